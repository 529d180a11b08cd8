#include <cmath>
#include <cstdint>
#include <span>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/operators/aten/aten_plan_json.h"

namespace shardwright {
namespace {

using operators::CostInstance;
using operators::kForbidden;

constexpr double kPerMicrosecond = 1e9;
constexpr std::int64_t kForbiddenCost = 1'000'000'000'000'000'000;

void write_costs(JsonWriter& json, std::span<const double> costs) {
  json.begin_array();
  for (const double cost : costs) {
    json.value(cost < kForbidden ? static_cast<std::int64_t>(std::llround(cost * kPerMicrosecond))
                                 : kForbiddenCost);
  }
  json.end_array();
}

void write_nodes(JsonWriter& json, const CostInstance& instance) {
  json.key("nodes").begin_object().key("intervals").begin_array();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n)
    json.begin_array().value(0).value(0).end_array();
  json.end_array().new_line().key("costs").begin_array();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    json.new_line();
    write_costs(json, instance.costs(n));
  }
  json.end_array().new_line().key("usages").begin_array();
  for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
    json.begin_array();
    for (std::size_t s = 0; s < instance.num_strategies(n); ++s)
      json.value(0);
    json.end_array();
  }
  json.end_array().end_object();
}

}  // namespace

void write_aten_instance(const operators::AtenGraph& graph, const CostInstance& instance,
                         const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().key("problem").begin_object().member("name", graph.model()).new_line();
  write_nodes(json, instance);
  json.new_line().key("edges").begin_object().key("nodes").begin_array();
  for (const CostInstance::Edge& edge : instance.edges())
    json.begin_array().value(edge.first).value(edge.second).end_array();
  json.end_array().new_line().key("costs").begin_array();
  for (const CostInstance::Edge& edge : instance.edges()) {
    json.new_line();
    write_costs(json, instance.matrix(edge));
  }
  json.end_array().end_object().end_object().end_object().finish();
}

}  // namespace shardwright
