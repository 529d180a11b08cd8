#include "runtime/io/operators/aten_options_json.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/operators/list_reading.h"

namespace shardwright {
namespace {

using operators::MaybeAxisPlacement;
using operators::MaybePlacement;
using redistribution::AxisPlacement;
using redistribution::Placement;
using redistribution::ReduceOp;

struct PartialWord {
  std::string_view word;
  ReduceOp op;
};
constexpr std::array<PartialWord, 4> kPartials{{
    {"P", ReduceOp::kSum},
    {"Pavg", ReduceOp::kAvg},
    {"Pmax", ReduceOp::kMax},
    {"Pmin", ReduceOp::kMin},
}};

// Returns false if the word is unknown.
bool parse(std::string_view word, MaybeAxisPlacement& out) {
  out.reset();
  if (word == "-") return true;
  if (word == "R") {
    out = AxisPlacement::replicate();
    return true;
  }
  for (const PartialWord& partial : kPartials) {
    if (word != partial.word) continue;
    out = AxisPlacement::partial(partial.op);
    return true;
  }
  if (word.size() < 2 || word[0] != 'S') return false;
  std::size_t dim = 0;
  const char* const end = word.data() + word.size();
  const auto [next, error] = std::from_chars(word.data() + 1, end, dim);
  if (error != std::errc{} || next != end || dim >= redistribution::kMaxDims) return false;
  out = AxisPlacement::shard(dim);
  return true;
}

}  // namespace

Status read_axis_word(JsonValue value, MaybeAxisPlacement& out) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string_view word, value.string());
  if (parse(word, out)) return {};
  return value.expected("a placement: R, S with one of the dimensions 0 to " +
                        std::to_string(redistribution::kMaxDims - 1) +
                        " such as S0, P, Pavg, Pmax, Pmin or -");
}

std::string axis_word(const MaybeAxisPlacement& placement) {
  if (!placement) return "-";
  if (placement->is_replicate()) return "R";
  if (placement->is_shard()) return "S" + std::to_string(placement->dim);
  for (const PartialWord& partial : kPartials) {
    if (placement->reduce_op == partial.op) return std::string(partial.word);
  }
  return "P" + std::string(redistribution::name_of(placement->reduce_op));
}

Status read_placement(JsonValue value, std::size_t num_axes, Placement& out) {
  if (!value.is_array() || value.size() != num_axes) {
    return value.expected("a list with a placement for each of the mesh's " +
                          std::to_string(num_axes) + " axes");
  }
  std::vector<AxisPlacement> axes;
  for (std::size_t axis = 0; axis < num_axes; ++axis) {
    MaybeAxisPlacement placement;
    SHARDWRIGHT_RETURN_IF_ERROR(read_axis_word(value[axis], placement));
    if (!placement) return value[axis].expected("a placement, such as R or S0");
    axes.push_back(*placement);
  }
  const Result<Placement> placement = Placement::make(axes, redistribution::kMaxDims);
  if (!placement.ok()) return value.error(placement.error().message);
  out = *placement;
  return {};
}

void write_placement(JsonWriter& json, const MaybePlacement& placement, std::size_t num_axes) {
  json.begin_array();
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    json.value(axis_word(placement ? MaybeAxisPlacement(placement->on(axis)) : std::nullopt));
  json.end_array();
}

namespace {

using namespace operators;
using redistribution::AxisLink;
using redistribution::MeasuredRow;
using redistribution::MeasuredTable;

constexpr std::array<std::string_view, 6> kModels{"auto",    "flat",  "nccl",
                                                  "dtensor", "rings", "measured"};
constexpr std::array<std::string_view, 2> kRedistributions{"shortest", "autoparallel"};
constexpr std::array<std::string_view, 2> kBlocks{"free", "equal"};
constexpr std::array<std::string_view, 2> kBackends{"nccl", "gloo"};
constexpr std::array<std::string_view, 4> kCollectives{"all_gather", "reduce_scatter", "all_reduce",
                                                       "all_to_all"};

Status read_link(JsonValue value, AxisLink& out) {
  return JsonMembers(value)
      .required("latency_us", out.latency_us)
      .required("bandwidth_gb_per_s", out.bandwidth_gb_per_s)
      .finish();
}

Status read_row(JsonValue value, MeasuredRow& out) {
  if (!value.is_array() || value.size() != 2) return value.expected("[bytes, microseconds]");
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[0], out.bytes));
  return read_value(value[1], out.microseconds);
}

Status read_table(JsonValue value, MeasuredTable& out) {
  std::int64_t axis = 0;
  SHARDWRIGHT_RETURN_IF_ERROR(
      JsonMembers(value)
          .required("axis", axis)
          .required_with("collective", read_word("collective", kCollectives, out.collective))
          .required_with("rows", [&](JsonValue v) { return read_list(v, out.rows, read_row); })
          .finish());
  if (axis < 0) return value.error("\"axis\" must not be negative");
  out.axis = static_cast<std::size_t>(axis);
  return {};
}

// {"<target>": [words], ...}
Status read_constraints(JsonValue value, AtenConstraint::Of of, std::size_t num_axes,
                        std::vector<AtenConstraint>& out) {
  if (!value.is_object()) return value.expected("an object of placements by name");
  for (std::size_t i = 0; i < value.size(); ++i) {
    AtenConstraint constraint;
    constraint.of = of;
    constraint.target = value[i].key();
    SHARDWRIGHT_RETURN_IF_ERROR(read_placement(value[i], num_axes, constraint.placement));
    out.push_back(std::move(constraint));
  }
  return {};
}

Status read_placements(JsonValue value, std::size_t num_axes, std::vector<AtenConstraint>& out) {
  const auto of = [&](AtenConstraint::Of kind) {
    return [&, kind](JsonValue v) { return read_constraints(v, kind, num_axes, out); };
  };
  return JsonMembers(value)
      .optional_with("parameters", of(AtenConstraint::Of::kParameter))
      .optional_with("buffers", of(AtenConstraint::Of::kBuffer))
      .optional_with("inputs", of(AtenConstraint::Of::kInput))
      .optional_with("tangents", of(AtenConstraint::Of::kTangent))
      .optional_with("outputs", of(AtenConstraint::Of::kOutput))
      .finish();
}

Status read_operator_time(JsonValue value, OperatorTime& out) {
  return JsonMembers(value)
      .required("op", out.op)
      .required_with("inputs", [&](JsonValue v) { return read_list(v, out.inputs, read_shape); })
      .required_with("dtype", [&](JsonValue v) { return read_type(v, out.type); })
      .required("us", out.microseconds)
      .finish();
}

Status read_collectives(JsonValue value, CollectiveModel& out) {
  return JsonMembers(value)
      .required_with("model", read_word("model", kModels, out.kind))
      .optional("devices_per_host", out.devices_per_host)
      .optional_with("links", [&](JsonValue v) { return read_list(v, out.links, read_link); })
      .optional_with("tables", [&](JsonValue v) { return read_list(v, out.tables, read_table); })
      .finish();
}

Status read_overlap(JsonValue value, OverlapShares& out) {
  return JsonMembers(value)
      .optional("parameters", out.parameters)
      .optional("gradients", out.gradients)
      .finish();
}

}  // namespace

Result<PlanAtenOptions> read_aten_options(std::string_view text,
                                          const redistribution::MeshShape& mesh) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kModelOptions));
  PlanAtenOptions out;
  std::optional<JsonValue> placements;
  SHARDWRIGHT_RETURN_IF_ERROR(
      JsonMembers(document.root())
          .optional("mesh", out.mesh)
          .optional("device", out.device)
          .optional("memory", out.memory_limit)
          .optional("optimizer_states", out.optimizer_states)
          .optional_with("backend", read_word("backend", kBackends, out.backend))
          .optional_with("redistribution",
                         read_word("redistribution", kRedistributions, out.redistribution))
          .optional_with("collectives",
                         [&](JsonValue v) { return read_collectives(v, out.collectives); })
          .optional_with(
              "operator_times",
              [&](JsonValue v) { return read_list(v, out.operator_times, read_operator_time); })
          .optional_with("overlap", [&](JsonValue v) { return read_overlap(v, out.overlap); })
          .optional_with("blocks", read_word("kind of blocks", kBlocks, out.blocks))
          .optional_with("placements",
                         [&](JsonValue v) -> Status {
                           placements = v;
                           return {};
                         })
          .optional("threads", out.limits.threads)
          .optional("time_limit_s", out.limits.time_limit_s)
          .optional("work_limit", out.limits.work_limit)
          .optional("seed", out.limits.seed)
          .finish());
  if (!mesh.empty()) out.mesh = mesh;
  if (out.mesh.empty()) return document.root().error("\"mesh\" is missing");
  if (placements)
    SHARDWRIGHT_RETURN_IF_ERROR(read_placements(*placements, out.mesh.size(), out.constraints));
  return out;
}

}  // namespace shardwright
