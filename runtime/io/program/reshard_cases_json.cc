// Reads cases, each of which reshards one tensor.

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/program/program_json.h"

namespace shardwright {
namespace {

using namespace internal;
using namespace program;

constexpr std::array<std::string_view, 11> kAnswerKeys{"group",
                                                       "seq",
                                                       "inserted",
                                                       "syncs_if_sync_per_insert",
                                                       "usable",
                                                       "has_self_send",
                                                       "upstream_correct",
                                                       "upstream_collective_consistent",
                                                       "counters",
                                                       "expected",
                                                       "note"};

constexpr std::array<std::string_view, 6> kMeshAnswerKeys{
    "steps", "numerically_correct", "has_redundant_gather_split", "group", "expected", "note"};

auto attribute(DistAttr& out) {
  return [&out](JsonValue value) -> Status {
    std::vector<std::int64_t> shape;
    std::vector<Rank> ids;
    SHARDWRIGHT_RETURN_IF_ERROR(
        JsonMembers(value)
            .required("mesh", shape)
            .required_with("ids", [&](JsonValue list) { return read_ranks(list, ids); })
            .required_with("dims_mapping",
                           [&](JsonValue v) { return read_mapping(v, out.dims_mapping); })
            .optional_with("partial", [&](JsonValue v) { return read_partial(v, out.partial); })
            .finish());
    SHARDWRIGHT_ASSIGN_OR_RETURN(out.mesh,
                                 make_mesh(value, "mesh", "ids", std::move(shape), std::move(ids)));
    return {};
  };
}

// Reads a list of mesh axes along which the tensor is a partial sum.
Status read_partial_sums(JsonValue value, PartialAxes& out) {
  std::vector<std::int64_t> axes;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, axes));
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= static_cast<std::int64_t>(kMaxMeshAxes)) {
      return value[i].error("the mesh has no axis " + std::to_string(axes[i]));
    }
    const auto axis = static_cast<std::size_t>(axes[i]);
    if (out.size() <= axis) out.resize(axis + 1, Reduction::kNone);
    out[axis] = Reduction::kSum;
  }
  return {};
}

// Checks a placement on the mesh. Errors name the keys of this kind of case.
Status check_on_mesh(JsonValue value, const char* mapping_key, const char* partial_key,
                     const DistAttr& attr, const Shape& shape) {
  const Status status = check(attr, shape.size());
  if (status.ok()) return {};
  constexpr std::string_view kMapping = "/dims_mapping";
  const std::string& where = status.error().where;
  const std::string within = where.starts_with(kMapping)
                                 ? mapping_key + where.substr(kMapping.size())
                                 : std::string(partial_key);
  return invalid_input(value.pointer() + "/" + within, status.error().message);
}

Status read_mesh_case(JsonValue value, ReshardCaseDocument& out) {
  std::vector<std::int64_t> mesh_shape;
  ReshardCase& request = out.request;
  out.on_mesh = true;
  SHARDWRIGHT_RETURN_IF_ERROR(
      JsonMembers(value)
          .required("mesh", mesh_shape)
          .required_with("shape", [&](JsonValue v) { return read_extents(v, request.shape); })
          .required_with("src",
                         [&](JsonValue v) { return read_mapping(v, request.source.dims_mapping); })
          .optional_with("src_partial",
                         [&](JsonValue v) { return read_partial_sums(v, request.source.partial); })
          .required_with("dst",
                         [&](JsonValue v) { return read_mapping(v, request.target.dims_mapping); })
          .optional_with("dst_partial",
                         [&](JsonValue v) { return read_partial_sums(v, request.target.partial); })
          .ignore(kMeshAnswerKeys)
          .finish());
  std::int64_t ranks = 1;
  for (const std::int64_t extent : mesh_shape) {
    if (extent < 1 || extent > (1 << 20) / ranks) {
      return invalid_input(value.pointer() + "/mesh",
                           "an axis has at least one rank, and all together at most 2^20");
    }
    ranks *= extent;
  }
  std::vector<Rank> ids;
  for (std::int64_t i = 0; i < ranks; ++i)
    ids.push_back(static_cast<Rank>(i));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      request.source.mesh, make_mesh(value, "mesh", "mesh", std::move(mesh_shape), std::move(ids)));
  request.target.mesh = request.source.mesh;
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_on_mesh(value, "src", "src_partial", request.source, request.shape));
  return check_on_mesh(value, "dst", "dst_partial", request.target, request.shape);
}

Status read_case(JsonValue value, ReshardCaseDocument& out) {
  if (value.is_object() && value.find("mesh")) return read_mesh_case(value, out);
  ReshardCase& request = out.request;
  return JsonMembers(value)
      .required_with("shape", [&](JsonValue v) { return read_extents(v, request.shape); })
      .optional_with("dtype", named("data type", data_type_names(), request.type))
      .required_with("src", attribute(request.source))
      .required_with("dst", attribute(request.target))
      .ignore(kAnswerKeys)
      .finish();
}

}  // namespace

Result<std::vector<ReshardCaseDocument>> read_reshard_cases(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kReshard));
  if (!root.is_array() || root.size() == 0) return root.expected("a list of at least one case");
  std::vector<ReshardCaseDocument> cases(root.size());
  for (std::size_t i = 0; i < root.size(); ++i) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_case(root[i], cases[i]));
  }
  return cases;
}

namespace {

using namespace internal;
using namespace program;

void write_part(JsonWriter& json, const Part& part) {
  json.begin_array();
  for (const Interval& interval : part) {
    json.begin_array().value(interval.begin).value(interval.end).end_array();
  }
  json.end_array();
}

void write_bounds(JsonWriter& json, const Part& part) {
  std::vector<std::int64_t> starts;
  std::vector<std::int64_t> ends;
  for (const Interval& interval : part) {
    starts.push_back(interval.begin);
    ends.push_back(interval.end);
  }
  member_list(json, "starts", starts);
  member_list(json, "ends", ends);
}

constexpr std::string_view step_name(StepKind kind) {
  switch (kind) {
    case StepKind::kAllGather:
      return "all_gather";
    case StepKind::kConcatGather:
      return "c_concat";
    case StepKind::kAllReduce:
      return "all_reduce";
    case StepKind::kReduceScatter:
      return "reduce_scatter";
    case StepKind::kAllToAll:
      return "all_to_all";
    case StepKind::kSend:
      return "send";
    case StepKind::kRecv:
      return "recv";
    case StepKind::kKeep:
      return "keep";
    case StepKind::kConcat:
      return "concat";
    case StepKind::kSlice:
      return "slice";
    case StepKind::kZero:
      return "zero";
    case StepKind::kEnd:
      return "end";
  }
  return "";
}

void write_step(JsonWriter& json, const Step& step, bool is_bool) {
  json.begin_object().member("op", step_name(step.kind));
  if (is_collective(step.kind)) member_list(json, "group", step.group);
  if (step.kind == StepKind::kAllGather) {
    json.member("need_split", step.need_split).member("is_bool", is_bool);
  }
  if (step.kind == StepKind::kAllReduce || step.kind == StepKind::kReduceScatter) {
    json.member("reduction", name_of(step.reduction));
  }
  if (step.kind == StepKind::kReduceScatter) json.member("dim", static_cast<int>(step.dim));
  if (step.kind == StepKind::kAllToAll) {
    json.member("split_dim", static_cast<int>(step.dim))
        .member("concat_dim", static_cast<int>(step.other_dim));
  }
  if (step.kind == StepKind::kSend || step.kind == StepKind::kRecv ||
      step.kind == StepKind::kKeep || step.kind == StepKind::kZero) {
    json.key("part");
    write_part(json, step.part);
  }
  if (step.kind == StepKind::kSend || step.kind == StepKind::kRecv) {
    json.member("src", step.src).member("dst", step.dst);
  }
  if (step.kind == StepKind::kConcat) {
    json.key("parts").begin_array();
    for (const Part& part : step.parts)
      write_part(json, part);
    json.end_array();
  }
  if (step.kind == StepKind::kSlice) write_bounds(json, step.part);
  json.end_object();
}

void write_inserted(JsonWriter& json, const RankReshard& rank) {
  json.begin_array();
  for (const auto& [type, shape] : rank.inserted) {
    json.begin_array().value(type);
    if (shape) write_list(json, *shape);
    json.end_array();
  }
  json.begin_array().value("=>");
  write_list(json, rank.result);
  json.end_array().end_array();
}

void write_mesh_moves(JsonWriter& json, const std::vector<redistribution::Move>& moves) {
  using Kind = redistribution::Move::Kind;
  json.begin_array();
  for (const redistribution::Move& move : moves) {
    json.begin_array().value(to_name(move.kind)).value(static_cast<int>(move.axes.front()));
    const bool gathers = move.kind == Kind::kAllGather || move.kind == Kind::kAllToAll;
    if (gathers) json.value(static_cast<int>(move.from));
    if (move.kind == Kind::kSplit || move.kind == Kind::kReduceScatter ||
        move.kind == Kind::kAllToAll) {
      json.value(static_cast<int>(move.to));
    }
    json.end_array();
  }
  json.end_array();
}

void write_reshard(JsonWriter& json, const ReshardCaseDocument& document,
                   const TensorReshard& answer) {
  const bool is_bool = document.request.type == DataType::kBool;
  json.new_line().begin_object().key("seq").begin_object();
  for (const auto& [rank, steps] : answer.plan.ranks) {
    json.key(std::to_string(rank)).begin_array();
    for (const Step& step : steps)
      write_step(json, step, is_bool);
    json.end_array();
  }
  json.end_object().key("inserted").begin_object();
  for (const RankReshard& rank : answer.ranks) {
    json.key(std::to_string(rank.rank));
    write_inserted(json, rank);
  }
  json.end_object().key("counters").begin_object();
  for (const RankReshard& rank : answer.ranks) {
    json.key(std::to_string(rank.rank));
    write_counters(json, rank.counters);
  }
  json.end_object();
  if (answer.mesh_moves) {
    json.key("steps");
    write_mesh_moves(json, *answer.mesh_moves);
  }
  json.member("cost_us", answer.us);
  if (answer.simulation) {
    json.key("simulated").begin_object().member("correct", answer.simulation->ok());
    if (!answer.simulation->ok()) json.member("problem", answer.simulation->problem);
    json.end_object();
  }
  json.end_object();
}

}  // namespace

void write_reshards(const std::vector<ReshardCaseDocument>& cases,
                    const std::vector<TensorReshard>& answers, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_array();
  for (std::size_t i = 0; i < cases.size(); ++i)
    write_reshard(json, cases[i], answers[i]);
  json.end_array().finish();
}

}  // namespace shardwright
