#include "core/redistribution/placement/placement_notation.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/io/program/redistribution/redistribution_json.h"

namespace shardwright {
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
