#include "runtime/io/program/redistribution_json.h"

#include <array>
#include <cstdint>
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

// Paths on any mesh have fewer collectives; larger numbers are likely mistakes.
constexpr std::int64_t kMostCollectives = 1000;

constexpr std::array<std::string_view, 2> kModels{"dtensor", "rings"};

Status read_placement(JsonValue value, const RedistributionCase& request, Placement& out) {
  std::vector<std::string> words;
  SHARDWRIGHT_RETURN_IF_ERROR(read_value(value, words));
  if (words.size() != request.mesh.size()) {
    return value.error("the mesh has " + std::to_string(request.mesh.size()) +
                       " axes; write a placement for each, not " + std::to_string(words.size()));
  }
  const Result<Placement> placement = read_words(words, request.shape.size());
  if (!placement.ok()) {
    return invalid_input(value.pointer() + placement.error().where, placement.error().message);
  }
  out = *placement;
  return {};
}

Status read_links(JsonValue value, std::vector<AxisLink>& out) {
  if (!value.is_array()) return value.expected("a list with a link for each axis of the mesh");
  for (std::size_t i = 0; i < value.size(); ++i) {
    AxisLink& link = out.emplace_back();
    SHARDWRIGHT_RETURN_IF_ERROR(JsonMembers(value[i])
                                    .required("latency_us", link.latency_us)
                                    .required("bandwidth_gb_per_s", link.bandwidth_gb_per_s)
                                    .finish());
  }
  return {};
}

Status read_costs(JsonValue value, RedistributionOptions& out) {
  std::size_t model = 0;
  DTensorModel dtensor;
  RingModel rings;
  SHARDWRIGHT_RETURN_IF_ERROR(
      JsonMembers(value)
          .required_with("model",
                         [&](JsonValue v) -> Status {
                           SHARDWRIGHT_ASSIGN_OR_RETURN(model, read_choice(v, "model", kModels));
                           return {};
                         })
          .optional("devices_per_host", dtensor.devices_per_host)
          .optional_with("links", [&](JsonValue v) { return read_links(v, rings.links); })
          .optional("copy_gb_per_s", rings.copy_gb_per_s)
          .optional("groups", rings.groups)
          .finish());
  if (model == 0) {
    if (!rings.links.empty()) return value.error("\"links\" belong to the model \"rings\"");
    out.model = dtensor;
    return {};
  }
  if (rings.links.empty()) return value.error("the model \"rings\" needs \"links\"");
  out.model = std::move(rings);
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

// The placements are read last, whatever the order in the file: they depend on mesh and shape.
Status read_placements(const std::vector<JsonValue>& values, RedistributionCase& request) {
  SHARDWRIGHT_RETURN_IF_ERROR(read_placement(values[0], request, request.source));
  return read_placement(values[1], request, request.target);
}

}  // namespace

Result<RedistributionDocument> read_redistribution(std::string_view text) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const JsonDocument document, JsonDocument::parse(text));
  const JsonValue root = document.root();
  SHARDWRIGHT_RETURN_IF_ERROR(check_kind(root, DocumentKind::kRedistribution));
  RedistributionDocument out;
  std::vector<JsonValue> placements(2, root);
  const auto keep = [&placements](std::size_t i) {
    return [&placements, i](JsonValue v) -> Status {
      placements[i] = v;
      return {};
    };
  };
  std::optional<std::int64_t> collectives;
  SHARDWRIGHT_RETURN_IF_ERROR(
      JsonMembers(root)
          .required("mesh", out.request.mesh)
          .required_with("shape", [&](JsonValue v) { return read_shape(v, out.request.shape); })
          .required_with("data_type",
                         [&](JsonValue v) { return read_item_bytes(v, out.request.itemsize); })
          .required_with("source", keep(0))
          .required_with("target", keep(1))
          .optional_with("costs", [&](JsonValue v) { return read_costs(v, out.options); })
          .optional("memory_bytes", out.options.memory_bytes)
          .optional("collectives", collectives)
          .ignore({"note"})
          .finish());
  SHARDWRIGHT_RETURN_IF_ERROR(read_placements(placements, out.request));
  if (collectives) {
    if (*collectives < 0 || *collectives > kMostCollectives) {
      return invalid_input("/collectives",
                           "must be between 0 and " + std::to_string(kMostCollectives));
    }
    out.options.collectives = static_cast<std::uint32_t>(*collectives);
  }
  return out;
}

namespace {

using namespace redistribution;
using Kind = Move::Kind;

void write_step(JsonWriter& json, const PathStep& step, std::size_t num_axes) {
  const Move& move = step.move;
  json.new_line().begin_object().member("move", to_name(move.kind)).key("axes").begin_array();
  for (const std::uint8_t axis : move.axes)
    json.value(static_cast<int>(axis));
  json.end_array();
  const bool gathers = move.kind == Kind::kAllGather || move.kind == Kind::kAllToAll;
  const bool reduces = move.kind == Kind::kAllReduce || move.kind == Kind::kReduceScatter ||
                       move.kind == Kind::kToPartial;
  const bool shards = move.kind == Kind::kAllToAll || move.kind == Kind::kSplit ||
                      move.kind == Kind::kReduceScatter;
  if (gathers) json.member("from", static_cast<int>(move.from));
  if (shards) json.member("to", static_cast<int>(move.to));
  if (reduces) json.member("reduce_op", name_of(move.reduce_op));
  json.key("after").begin_array();
  for (const std::string& word : to_words(step.after, num_axes))
    json.value(word);
  json.end_array().member("us", step.cost).end_object();
}

void write_members(JsonWriter& json, const RedistributionDocument& document,
                   const PlannedRedistribution& answer) {
  const Path& path = answer.path;
  json.member("cost_us", path.cost).member("is_optimal", path.is_optimal);
  json.member("peak_bytes", answer.peak_bytes);
  json.member("collectives", static_cast<std::int64_t>(path.num_collectives()));
  json.key("steps").begin_array();
  for (const PathStep& step : path.steps)
    write_step(json, step, document.request.mesh.size());
  json.end_array();
}

}  // namespace

void write_redistribution(const RedistributionDocument& document,
                          const PlannedRedistribution& answer, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object();
  write_members(json, document, answer);
  json.end_object().finish();
}

void write_redistribution_front(const RedistributionDocument& document,
                                std::span<const PlannedRedistribution> front,
                                const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object();
  write_members(json, document, front.front());
  json.new_line().key("front").begin_array();
  for (const PlannedRedistribution& answer : front) {
    json.new_line().begin_object();
    write_members(json, document, answer);
    json.end_object();
  }
  json.end_array().end_object().finish();
}

}  // namespace shardwright
