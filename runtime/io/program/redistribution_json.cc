#include "runtime/io/program/redistribution_json.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/redistribution/placement/placement_notation.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/kinds/document_kind.h"
#include "runtime/io/program/item_bytes_json.h"

namespace shardwright {
namespace {

using namespace redistribution;

void describe_link(JsonMembers& members, AxisLink& link) {
  members.required("latency_us", link.latency_us)
      .required("bandwidth_gb_per_s", link.bandwidth_gb_per_s, "GB are 10^9 bytes.");
}

// No path needs so many collectives; larger numbers are probably mistakes.
constexpr std::int64_t kMostCollectives = 1000;

constexpr std::array<std::string_view, 2> kModels{"dtensor", "rings"};

// The members of a file. Placements depend on mesh and shape, so they are converted last.
struct RedistributionFile {
  RedistributionDocument document;
  std::vector<std::string> source;
  std::vector<std::string> target;
  std::optional<std::int64_t> collectives;
};

struct Costs {
  enum class Model : std::uint8_t { kDTensor, kRings };
  Model model = Model::kDTensor;
  DTensorModel dtensor;
  RingModel rings;
};

Status read_links(JsonValue value, std::vector<AxisLink>& links) {
  if (!value.is_array()) return value.expected("a list with a link for each axis of the mesh");
  for (std::size_t i = 0; i < value.size(); ++i) {
    const auto read = [&](JsonMembers& members) { describe_link(members, links.emplace_back()); };
    SHARDWRIGHT_RETURN_IF_ERROR(read_by(value[i], read));
  }
  return {};
}

void describe(JsonMembers& members, Costs& costs) {
  RingModel& rings = costs.rings;
  members.word("model", costs.model, "model", kModels, "What collectives take.", true)
      .optional("devices_per_host", costs.dtensor.devices_per_host, "Of dtensor.")
      .optional_with(
          "links", [&](JsonValue value) { return read_links(value, rings.links); },
          [] {
            AxisLink sample;
            return json::list(shape_by([&](JsonMembers& link) { describe_link(link, sample); }))
                .says("Of rings: one for each axis of the mesh.");
          })
      .optional_with(
          "copy_gb_per_s", [&](JsonValue value) { return read_value(value, rings.copy_gb_per_s); },
          json::number().says("Of rings: kernels that copy; free if left out."))
      .optional("groups", rings.groups,
                "Of rings: also collectives over several axes at once, and permutes.");
}

Status read_costs(JsonValue value, RedistributionOptions& out) {
  Costs costs;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, costs));
  const bool has_links = !costs.rings.links.empty();
  if (costs.model == Costs::Model::kDTensor) {
    if (has_links) return value.error("\"links\" belong to the model \"rings\"");
    out.model = costs.dtensor;
    return {};
  }
  if (!has_links) return value.error("the model \"rings\" needs \"links\"");
  out.model = std::move(costs.rings);
  return {};
}

Status read_shape(JsonValue value, Shape& out) {
  std::vector<std::int64_t> shape;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, shape));
  if (shape.size() > kMaxDims) {
    return value.error("a tensor has at most " + std::to_string(kMaxDims) + " dimensions");
  }
  out.assign(shape.begin(), shape.end());
  return {};
}

void describe(JsonMembers& members, RedistributionFile& file) {
  constexpr std::string_view kPlacement =
      "One placement for each axis of the mesh, such as S(0), R or P(sum).";
  RedistributionCase& request = file.document.request;
  RedistributionOptions& options = file.document.options;
  members.required("mesh", request.mesh, "Devices along each axis; the last is the innermost.")
      .required_with(
          "shape", [&](JsonValue value) { return read_shape(value, request.shape); },
          [] { return json::list(json::integer()).or_null().says("Of the whole tensor."); });
  describe_item_bytes(members, request.itemsize);
  members.required("source", file.source, kPlacement)
      .required("target", file.target, kPlacement)
      .optional_with(
          "costs", [&](JsonValue value) { return read_costs(value, options); },
          [] { return shape_of(Costs()).says("DTensor's costs if left out."); })
      .optional("memory_bytes", options.memory_bytes,
                "Most bytes of a device during a step, input and output together.")
      .optional("collectives", file.collectives, "Most steps that communicate.")
      .from(0)
      .up_to(kMostCollectives)
      .ignore({"note"});
}

Status read_placement(std::string_view key, const std::vector<std::string>& words,
                      const RedistributionCase& request, Placement& out) {
  const std::string place = "/" + std::string(key);
  if (words.size() != request.mesh.size()) {
    return invalid_input(place, "the mesh has " + std::to_string(request.mesh.size()) +
                                    " axes; write a placement for each, not " +
                                    std::to_string(words.size()));
  }
  const Result<Placement> placement = read_words(words, request.shape.size());
  if (!placement.ok())
    return invalid_input(place + placement.error().where, placement.error().message);
  out = *placement;
  return {};
}

}  // namespace

Result<RedistributionDocument> read_redistribution(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(document.root(), DocumentKind::kRedistribution));
  RedistributionFile file;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(document.root(), file));
  RedistributionDocument& out = file.document;
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_placement("source", file.source, out.request, out.request.source));
  SHARDWRIGHT_RETURN_IF_ERROR(
      read_placement("target", file.target, out.request, out.request.target));
  if (file.collectives) {
    if (*file.collectives < 0 || *file.collectives > kMostCollectives) {
      return invalid_input("/collectives",
                           "must be between 0 and " + std::to_string(kMostCollectives));
    }
    out.options.collectives = static_cast<std::uint32_t>(*file.collectives);
  }
  return std::move(out);
}

JsonShape internal::move_shape() {
  std::vector<std::string_view> names;
  for (std::size_t kind = 0; kind < Move::kNumKinds; ++kind)
    names.push_back(to_name(static_cast<Move::Kind>(kind)));
  return json::one_word(names);
}

JsonShape internal::reduce_op_shape() {
  std::vector<std::string_view> names;
  for (std::size_t op = 0; op < kNumReduceOps; ++op)
    names.emplace_back(name_of(static_cast<ReduceOp>(op)));
  return json::one_word(names);
}

JsonShape redistribution_shape() {
  return shape_of(RedistributionFile())
      .says("A tensor that changes its placement on a mesh. `program redistribute` reads it.");
}

namespace {

void describe_step(JsonMembers& members, const PathStep& step, std::size_t num_axes) {
  using Kind = Move::Kind;
  const Move& move = step.move;
  const auto is = [&](std::initializer_list<Kind> kinds) {
    return std::find(kinds.begin(), kinds.end(), move.kind) != kinds.end();
  };
  const auto dimension = [](std::uint8_t dim) {
    return [dim](JsonWriter& json) { json.value(dim); };
  };
  members
      .written(
          "move", [&](JsonWriter& json) { json.value(to_name(move.kind)); }, internal::move_shape)
      .shown("axes", std::vector<int>(move.axes.begin(), move.axes.end()), "Of the mesh.")
      .written_if(is({Kind::kAllGather, Kind::kAllToAll}), "from", dimension(move.from),
                  [] { return json::natural().says("The dimension that is sharded no longer."); })
      .written_if(is({Kind::kAllToAll, Kind::kSplit, Kind::kReduceScatter}), "to",
                  dimension(move.to),
                  [] { return json::natural().says("The dimension that is sharded."); })
      .written_if(
          is({Kind::kAllReduce, Kind::kReduceScatter, Kind::kToPartial}), "reduce_op",
          [&](JsonWriter& json) { json.value(name_of(move.reduce_op)); }, internal::reduce_op_shape)
      .shown("after", to_words(step.after, num_axes), "The placement after the step.")
      .shown("us", step.cost);
}

void describe_path(JsonMembers& members, const PlannedRedistribution& answer,
                   std::size_t num_axes) {
  const Path& path = answer.path;
  members.shown("cost_us", path.cost)
      .shown("is_optimal", path.is_optimal, "Whether no other sequence of steps costs less.")
      .shown("peak_bytes", answer.peak_bytes, "Most bytes of a device during a step.")
      .shown("collectives", path.num_collectives())
      .rows_by("steps", path.steps, [&](JsonMembers& inner, const PathStep& step) {
        describe_step(inner, step, num_axes);
      });
}

// An empty `front` is left out.
void describe_answer(JsonMembers& members, const PlannedRedistribution& cheapest,
                     std::span<const PlannedRedistribution> front, std::size_t num_axes) {
  describe_path(members, cheapest, num_axes);
  if (!front.empty()) members.line();
  members.rows_by(
      "front", front,
      [&](JsonMembers& inner, const PlannedRedistribution& answer) {
        describe_path(inner, answer, num_axes);
      },
      true);
}

void write_answer(const RedistributionDocument& document, const PlannedRedistribution& cheapest,
                  std::span<const PlannedRedistribution> front, const TextSink& sink) {
  JsonWriter json(sink);
  write_by(json, [&](JsonMembers& members) {
    describe_answer(members, cheapest, front, document.request.mesh.size());
  });
  json.finish();
}

}  // namespace

void write_redistribution(const RedistributionDocument& document,
                          const PlannedRedistribution& answer, const TextSink& sink) {
  write_answer(document, answer, {}, sink);
}

void write_redistribution_front(const RedistributionDocument& document,
                                std::span<const PlannedRedistribution> front,
                                const TextSink& sink) {
  write_answer(document, front.front(), front, sink);
}

JsonShape redistribution_answer_shape() {
  return shape_by([](JsonMembers& members) { describe_answer(members, {}, {}, 0); })
      .says("What `program redistribute` answers.");
}

}  // namespace shardwright
