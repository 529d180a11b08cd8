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

JsonShape axis_word_shape() {
  return json::text()
      .like("^(R|S0*[0-8]|P|Pavg|Pmax|Pmin|-)$")
      .says("R, S<dim>, P (a sum), Pavg, Pmax, Pmin, or - where there is no tensor.")
      .named("placement");
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

Status read_row(JsonValue value, MeasuredRow& out) {
  if (!value.is_array() || value.size() != 2) return value.expected("[bytes, microseconds]");
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value[0], out.bytes));
  return read_value(value[1], out.microseconds);
}

// Reads {"<target>": [words], ...}.
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

JsonShape constraints_shape() {
  return json::by_name(
      json::list(json::text().like("^(R|S0*[0-8]|P|Pavg|Pmax|Pmin)$"))
          .says("One placement for each axis of the mesh: R, S<dim>, P, Pavg, Pmax or Pmin."));
}

void describe_placements(JsonMembers& members, std::size_t num_axes,
                         std::vector<AtenConstraint>& out) {
  const auto of = [&](AtenConstraint::Of kind) {
    return [&, kind](JsonValue v) { return read_constraints(v, kind, num_axes, out); };
  };
  members.optional_with("parameters", of(AtenConstraint::Of::kParameter), constraints_shape)
      .optional_with("buffers", of(AtenConstraint::Of::kBuffer), constraints_shape)
      .optional_with("inputs", of(AtenConstraint::Of::kInput), constraints_shape)
      .optional_with("tangents", of(AtenConstraint::Of::kTangent), constraints_shape)
      .optional_with("outputs", of(AtenConstraint::Of::kOutput), constraints_shape);
}

}  // namespace
}  // namespace shardwright

namespace shardwright::redistribution {

static void describe(JsonMembers& members, AxisLink& link) {
  members.required("latency_us", link.latency_us)
      .required("bandwidth_gb_per_s", link.bandwidth_gb_per_s, "10^9 bytes per second.");
}

static void describe(JsonMembers& members, MeasuredTable& table, std::int64_t& axis) {
  members.required("axis", axis, "Axis of the mesh.")
      .from(0)
      .word("collective", table.collective, "collective", kCollectives, "", true)
      .required_with("rows", list_into(table.rows, read_row), [] {
        return json::list(
            json::tuple({json::number(), json::number()}).says("[bytes, microseconds]"));
      });
}

}  // namespace shardwright::redistribution

namespace shardwright::operators {

void describe(JsonMembers& members, OperatorTime& time) {
  members.required("op", time.op)
      .required_with("inputs", list_into(time.inputs, read_shape),
                     [] { return json::list(extents_shape()); })
      .required("dtype", time.type)
      .required("us", time.microseconds, "Microseconds.");
}

static void describe(JsonMembers& members, OverlapShares& shares) {
  members.optional("parameters", shares.parameters).from(0).up_to(1);
  members.optional("gradients", shares.gradients).from(0).up_to(1);
}

}  // namespace shardwright::operators

namespace shardwright {
namespace {

Status read_table(JsonValue value, MeasuredTable& out) {
  std::int64_t axis = 0;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_by(value, [&](JsonMembers& members) { describe(members, out, axis); }));
  if (axis < 0) return value.error("\"axis\" must not be negative");
  out.axis = static_cast<std::size_t>(axis);
  return {};
}

JsonShape tables_shape() {
  return json::list(shape_by([](JsonMembers& members) {
    MeasuredTable sample;
    std::int64_t axis = 0;
    describe(members, sample, axis);
  }));
}

}  // namespace

static void describe(JsonMembers& members, CollectiveModel& model) {
  members.word("model", model.kind, "model", kModels, "", true)
      .optional("devices_per_host", model.devices_per_host)
      .optional_with("links", list_into(model.links), list_of<AxisLink>)
      .optional_with("tables", list_into(model.tables, read_table), tables_shape);
}

namespace {

// Keeps the placements unread until the mesh is known.
void describe_options(JsonMembers& members, PlanAtenOptions& options,
                      std::optional<JsonValue>& placements) {
  const auto keep = [&](JsonValue v) {
    placements = v;
    return Status();
  };
  members.optional("mesh", options.mesh, "Devices along each axis.")
      .optional("device", options.device, "GPU whose times are estimated.")
      .optional("memory", options.memory_limit, "Bytes of a device.")
      .optional("optimizer_states", options.optimizer_states,
                "Tensors that the optimizer keeps for each parameter.")
      .word("backend", options.backend, "backend", kBackends, "Whose buffers an all-to-all holds.")
      .word("redistribution", options.redistribution, "redistribution", kRedistributions)
      .optional("collectives", options.collectives, "What communication takes.")
      .optional("overlap", options.overlap,
                "Shares of moving parameters and gradients that operators hide.")
      .word("blocks", options.blocks, "kind of blocks", kBlocks,
            "Whether repeated blocks must be sharded alike.")
      .optional_with("placements", keep,
                     [] {
                       return shape_by([](JsonMembers& inner) {
                         std::vector<AtenConstraint> sample;
                         describe_placements(inner, 0, sample);
                       });
                     })
      .optional("threads", options.limits.threads)
      .optional("time_limit_s", options.limits.time_limit_s)
      .optional("work_limit", options.limits.work_limit)
      .optional("seed", options.limits.seed);
}

}  // namespace

Result<PlanAtenOptions> read_aten_options(std::string_view text,
                                          const redistribution::MeshShape& mesh) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kModelOptions));
  PlanAtenOptions out;
  std::optional<JsonValue> placements;
  SHARDWRIGHT_RETURN_IF_ERROR(read_by(
      document.root(), [&](JsonMembers& members) { describe_options(members, out, placements); }));
  if (!mesh.empty()) out.mesh = mesh;
  if (out.mesh.empty()) return document.root().error("\"mesh\" is missing");
  if (placements) {
    SHARDWRIGHT_RETURN_IF_ERROR(read_by(*placements, [&](JsonMembers& members) {
      describe_placements(members, out.mesh.size(), out.constraints);
    }));
  }
  return out;
}

JsonShape aten_options_shape() {
  return shape_by([](JsonMembers& members) {
           PlanAtenOptions sample;
           std::optional<JsonValue> placements;
           describe_options(members, sample, placements);
         })
      .says("What `operators plan --options` reads.");
}

}  // namespace shardwright
