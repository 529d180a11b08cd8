// Reads cases of resharding one tensor.

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/program/program_json.h"
#include "runtime/io/program/redistribution_json.h"

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

// The members of a placement in a file.
struct Attribute {
  MeshForm mesh;
  DistAttr attr;
};

void describe(JsonMembers& members, Attribute& form) {
  describe_mesh(members, "mesh", form.mesh);
  describe_mapping(members, "dims_mapping", form.attr.dims_mapping, true);
  describe_partial(members, form.attr.partial);
}

void describe_attribute(JsonMembers& members, std::string_view key, DistAttr& out) {
  const auto read = [&](JsonValue value) -> Status {
    Attribute form;
    SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, form));
    out = std::move(form.attr);
    SHARDWRIGHT_ASSIGN_OR_RETURN(out.mesh, make_mesh(value, "mesh", "ids", std::move(form.mesh)));
    return {};
  };
  members.required_with(key, read, [] { return shape_of(Attribute()).named("attribute"); });
}

// Reads the mesh axes along which the tensor is a partial sum.
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

// Checks a placement on the mesh. Errors are located at `mapping_key` or `partial_key`.
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

// A case with one mesh and two mappings.
struct MeshCase {
  std::vector<std::int64_t> mesh;
  ReshardCase request;
};

void describe(JsonMembers& members, MeshCase& form) {
  ReshardCase& request = form.request;
  const auto describe_partial_sums = [&](std::string_view key, PartialAxes& partial) {
    members.optional_with(
        key, [&](JsonValue value) { return read_partial_sums(value, partial); },
        [] {
          return json::list(json::integer().from(0).up_to(kMaxMeshAxes - 1))
              .or_null()
              .says("Mesh axes along which ranks hold terms of a sum.");
        });
  };
  members.required_with(
      "mesh", [&](JsonValue value) { return read_value(value, form.mesh); },
      [] { return json::list(json::integer().from(1)).or_null().says("Ranks along each axis."); });
  describe_extents(members, request.shape);
  describe_mapping(members, "src", request.source.dims_mapping, true);
  describe_partial_sums("src_partial", request.source.partial);
  describe_mapping(members, "dst", request.target.dims_mapping, true);
  describe_partial_sums("dst_partial", request.target.partial);
  members.ignore(kMeshAnswerKeys);
}

Status read_mesh_case(JsonValue value, ReshardCaseDocument& out) {
  MeshCase form;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, form));
  out.on_mesh = true;
  out.request = std::move(form.request);
  ReshardCase& request = out.request;
  std::vector<std::int64_t>& mesh_shape = form.mesh;
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
      request.source.mesh,
      make_mesh(value, "mesh", "mesh", {std::move(mesh_shape), std::move(ids)}));
  request.target.mesh = request.source.mesh;
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_on_mesh(value, "src", "src_partial", request.source, request.shape));
  return check_on_mesh(value, "dst", "dst_partial", request.target, request.shape);
}

void describe_case(JsonMembers& members, ReshardCase& request) {
  describe_extents(members, request.shape);
  describe_data_type(members, request.type);
  describe_attribute(members, "src", request.source);
  describe_attribute(members, "dst", request.target);
  members.ignore(kAnswerKeys);
}

Status read_case(JsonValue value, ReshardCaseDocument& out) {
  if (value.is_object() && value.find("mesh")) return read_mesh_case(value, out);
  return read_by(value, [&](JsonMembers& members) { describe_case(members, out.request); });
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

JsonShape reshard_shape() {
  JsonShape by_attributes = shape_by([](JsonMembers& members) {
    ReshardCase sample;
    describe_case(members, sample);
  });
  return json::list(json::one_of({std::move(by_attributes), shape_of(MeshCase())}))
      .from(1)
      .says("Tensors that change their placement. `program reshard` reads it.");
}

namespace {

void write_part(JsonWriter& json, const Part& part) {
  json.begin_array();
  for (const Interval& interval : part) {
    json.begin_array().value(interval.begin).value(interval.end).end_array();
  }
  json.end_array();
}

// Index: the kind of step.
constexpr std::array<std::string_view, 12> kStepNames{
    "all_gather", "c_concat", "all_reduce", "reduce_scatter", "all_to_all", "send",
    "recv",       "keep",     "concat",     "slice",          "zero",       "end"};

JsonShape part_shape() {
  return json::list(json::tuple({json::integer(), json::integer()}))
      .says("Begin and end in each dimension.");
}

void describe_step(JsonMembers& members, const Step& step, bool is_bool) {
  const auto is = [&](std::initializer_list<StepKind> kinds) {
    return std::find(kinds.begin(), kinds.end(), step.kind) != kinds.end();
  };
  const auto writes = [](auto value) { return [=](JsonWriter& json) { json.value(value); }; };
  const auto write_bounds = [&](std::int64_t Interval::*bound) {
    return [&step, bound](JsonWriter& json) {
      json.begin_array();
      for (const Interval& interval : step.part)
        json.value(interval.*bound);
      json.end_array();
    };
  };
  const auto write_parts = [&](JsonWriter& json) {
    json.begin_array();
    for (const Part& part : step.parts)
      write_part(json, part);
    json.end_array();
  };
  const auto integers = [] { return json::list(json::integer()); };
  members
      .written("op", writes(kStepNames[static_cast<std::size_t>(step.kind)]),
               [] { return json::one_word(kStepNames); })
      .written_if(
          is_collective(step.kind), "group",
          [&](JsonWriter& json) { write_list(json, step.group); }, integers)
      .written_if(is({StepKind::kAllGather}), "need_split", writes(step.need_split), json::boolean)
      .written_if(is({StepKind::kAllGather}), "is_bool", writes(is_bool), json::boolean)
      .written_if(is({StepKind::kAllReduce, StepKind::kReduceScatter}), "reduction",
                  writes(name_of(step.reduction)), internal::reduce_op_shape)
      .written_if(is({StepKind::kReduceScatter}), "dim", writes(step.dim), json::integer)
      .written_if(is({StepKind::kAllToAll}), "split_dim", writes(step.dim), json::integer)
      .written_if(is({StepKind::kAllToAll}), "concat_dim", writes(step.other_dim), json::integer)
      .written_if(
          is({StepKind::kSend, StepKind::kRecv, StepKind::kKeep, StepKind::kZero}), "part",
          [&](JsonWriter& json) { write_part(json, step.part); }, part_shape)
      .written_if(is({StepKind::kSend, StepKind::kRecv}), "src", writes(step.src), json::integer)
      .written_if(is({StepKind::kSend, StepKind::kRecv}), "dst", writes(step.dst), json::integer)
      .written_if(is({StepKind::kConcat}), "parts", write_parts,
                  [] { return json::list(part_shape()); })
      .written_if(is({StepKind::kSlice}), "starts", write_bounds(&Interval::begin), integers)
      .written_if(is({StepKind::kSlice}), "ends", write_bounds(&Interval::end), integers);
}

void write_steps(JsonWriter& json, const std::vector<Step>& steps, bool is_bool) {
  json.begin_array();
  for (const Step& step : steps)
    write_by(json, [&](JsonMembers& members) { describe_step(members, step, is_bool); });
  json.end_array();
}

JsonShape steps_shape() {
  return json::list(shape_by([](JsonMembers& members) { describe_step(members, {}, false); }));
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

// Writes an object whose keys are ranks.
template <class Function>
auto by_rank(const std::vector<RankReshard>& ranks, const Function& write) {
  return [&](JsonWriter& json) {
    json.begin_object();
    for (const RankReshard& rank : ranks) {
      json.key(std::to_string(rank.rank));
      write(json, rank);
    }
    json.end_object();
  };
}

void describe_answer(JsonMembers& members, const ReshardCase& request,
                     const TensorReshard& answer) {
  const auto write_plan = [&](JsonWriter& json) {
    json.begin_object();
    for (const auto& [rank, steps] : answer.plan.ranks) {
      json.key(std::to_string(rank));
      write_steps(json, steps, request.type == DataType::kBool);
    }
    json.end_object();
  };
  const auto write_counters = [](JsonWriter& json, const RankReshard& rank) {
    write_by(json, [&](JsonMembers& inner) { describe_counters(inner, rank.counters); });
  };
  const bool is_correct = !answer.simulation || answer.simulation->ok();
  const auto write_simulation = [&](JsonWriter& json) {
    json.begin_object().member("correct", is_correct);
    if (!is_correct) json.member("problem", answer.simulation->problem);
    json.end_object();
  };
  members
      .written("seq", write_plan,
               [] { return json::by_name(steps_shape()).says("Steps by rank."); })
      .written(
          "inserted", by_rank(answer.ranks, write_inserted),
          [] {
            return json::by_name(
                       json::list(json::tuple({json::text(), json::list(json::integer())}).open()))
                .says(
                    "By rank, the type of each operator and the shape of its first output; "
                    "last, that of the tensor.");
          })
      .written("counters", by_rank(answer.ranks, write_counters),
               [] {
                 return json::by_name(
                     shape_by([](JsonMembers& inner) { describe_counters(inner, {}); }));
               })
      .written_if(
          answer.mesh_moves.has_value(), "steps",
          [&](JsonWriter& json) { write_mesh_moves(json, *answer.mesh_moves); },
          [] {
            return json::list(json::tuple({move_shape(), json::natural(), json::natural()}).open())
                .says("Move, mesh axis and dimensions.");
          })
      .shown("cost_us", answer.us)
      .written_if(answer.simulation.has_value(), "simulated", write_simulation, [] {
        return json::object({{"correct", json::boolean(), true}, {"problem", json::text()}})
            .says("Left out for tensors that are too large.");
      });
}

}  // namespace

void write_reshards(const std::vector<ReshardCaseDocument>& cases,
                    const std::vector<TensorReshard>& answers, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_array();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    write_by(json.new_line(),
             [&](JsonMembers& members) { describe_answer(members, cases[i].request, answers[i]); });
  }
  json.end_array().finish();
}

JsonShape reshard_answer_shape() {
  return json::list(shape_by([](JsonMembers& members) { describe_answer(members, {}, {}); }))
      .says("What `program reshard` answers.");
}

}  // namespace shardwright
