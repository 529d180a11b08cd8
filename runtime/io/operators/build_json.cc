#include "runtime/io/operators/build_json.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/io/json/json_writer.h"

namespace shardwright {
namespace {

using operators::CostEdge;
using operators::CostGraph;
using operators::CostGraphCounters;
using operators::CostMatrix;
using operators::MergedGraph;
using operators::NodeStrategies;
using operators::OpCall;
using operators::Operand;
using operators::OpGraph;
using operators::OpKind;
using operators::OpNode;
using operators::ShardingSpec;
using operators::Strategy;

std::string_view opcode(const OpNode& node) {
  switch (node.call) {
    case OpCall::kModule:
      return "call_module";
    case OpCall::kFunction:
      return "call_function";
    case OpCall::kMethod:
      return "call_method";
    case OpCall::kNone:
      break;
  }
  return to_name(node.kind);
}

// Returns the name of the module's class in PyTorch.
std::string module_type(const OpNode& node) {
  if (const std::size_t dims = operators::convolution_dims(node.kind); dims > 0)
    return "Conv" + std::to_string(dims) + "d";
  if (const std::size_t dims = operators::pooling_dims(node.kind); dims > 0)
    return (operators::is_average_pooling(node.kind) ? "AvgPool" : "MaxPool") +
           std::to_string(dims) + "d";
  switch (node.kind) {
    case OpKind::kLinear:
      return "Linear";
    case OpKind::kBatchNorm: {
      const std::size_t rank = node.shapes[0].size();
      return "BatchNorm" + std::to_string(rank <= 3 ? 1 : rank - 2) + "d";
    }
    case OpKind::kLayerNorm:
      return "LayerNorm";
    case OpKind::kEmbedding:
      return "Embedding";
    case OpKind::kAdaptiveAvgPool2d:
      return "AdaptiveAvgPool2d";
    case OpKind::kRelu:
      return "ReLU";
    case OpKind::kTanh:
      return "Tanh";
    case OpKind::kDropout:
      return "Dropout";
    case OpKind::kSoftmax:
      return "Softmax";
    case OpKind::kFlatten:
      return "Flatten";
    default:
      return std::string(to_name(node.kind));
  }
}

std::string target_of(const OpNode& node) {
  switch (node.kind) {
    case OpKind::kPlaceholder:
      return node.name;
    case OpKind::kGetAttr:
    case OpKind::kDefaultReshape:
    case OpKind::kTensorConstructor:
      return node.attrs.target.empty() ? std::string(to_name(node.kind)) : node.attrs.target;
    default:
      break;
  }
  return node.call == OpCall::kModule ? module_type(node) : std::string(to_name(node.kind));
}

void write_spec_names(const NodeStrategies& strategies, std::size_t s, JsonWriter& json) {
  json.begin_object();
  for (const Operand& operand : strategies.operands()) {
    json.key(operand.name);
    if (operand.tuple) json.begin_array();
    for (const ShardingSpec* spec : strategies.specs(s, operand))
      json.value(spec->dims.to_string());
    if (operand.tuple) json.end_array();
  }
  json.end_object();
}

void write_strategies(const NodeStrategies& strategies, JsonWriter& json) {
  json.begin_array();
  for (std::size_t s = 0; s < strategies.size(); ++s) {
    const Strategy& strategy = strategies[s];
    json.new_line().begin_object().member("name", strategies.name(s)).key("specs");
    write_spec_names(strategies, s, json);
    json.member("compute", strategy.compute.total)
        .member("comm", strategy.comm.total)
        .member("mem", strategy.budget_bytes())
        .end_object();
  }
  json.end_array();
}

template <class Number>
void write_list(std::span<const Number> numbers, JsonWriter& json) {
  json.begin_array();
  for (const Number number : numbers)
    json.value(number);
  json.end_array();
}

void write_node(const OpNode& node, const NodeStrategies& strategies, JsonWriter& json) {
  json.new_line().begin_object();
  json.member("name", node.name).member("op", opcode(node)).member("target", target_of(node));
  json.key("shape");
  if (node.tuple) {
    json.null();
  } else {
    write_list(std::span<const std::int64_t>(node.shapes[0]), json);
  }
  json.key("inputs");
  write_list(std::span<const std::uint32_t>(node.inputs), json);
  json.member("merge", operators::mergeable(node)).key("strategies");
  write_strategies(strategies, json);
  json.end_object();
}

void write_edges(const CostGraph& costs, std::span<const CostEdge> edges, JsonWriter& json) {
  json.begin_array();
  for (const CostEdge& edge : edges) {
    const CostMatrix& matrix = costs.matrix(edge);
    json.new_line().begin_array().value(edge.first).value(edge.second).begin_array();
    for (std::size_t i = 0; i < matrix.rows; ++i)
      write_list(std::span(matrix.entries).subspan(i * matrix.columns, matrix.columns), json);
    json.end_array().end_array();
  }
  json.end_array();
}

void write_merged(const CostGraph& costs, JsonWriter& json) {
  const MergedGraph& merged = costs.merged;
  json.new_line().key("following").begin_object();
  for (std::size_t n = 0; n < merged.follows.size(); ++n) {
    if (merged.follows[n] != MergedGraph::kNone) json.member(std::to_string(n), merged.follows[n]);
  }
  json.end_object().new_line().key("extra_node_costs").begin_object();
  for (std::size_t n = 0; n < merged.extra.size(); ++n) {
    if (merged.extra[n].empty()) continue;
    json.new_line().key(std::to_string(n));
    write_list(std::span<const double>(merged.extra[n]), json);
  }
  json.end_object().new_line().key("alias_set").begin_object();
  for (const operators::NodeAlias& alias : costs.aliases)
    json.member(std::to_string(alias.node), alias.of);
  json.end_object();
}

void write_counters(const CostGraphCounters& counters, JsonWriter& json) {
  json.new_line().key("counters").begin_object();
  json.member("dim_specs", counters.dim_specs)
      .member("shapes", counters.shapes)
      .member("specs", counters.specs)
      .member("path_searches", counters.path_searches)
      .member("path_questions", counters.path_questions)
      .member("matrix_entries", counters.matrix_entries)
      .member("matrices_computed", counters.matrices_computed)
      .member("matrices", counters.matrices)
      .end_object();
}

}  // namespace

void write_cost_graph(const OpGraph& graph, const CostGraph& costs, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().member("name", graph.name()).key("mesh");
  write_list(std::span<const std::uint32_t>(costs.table->mesh().spec().shape), json);
  write_counters(costs.counters, json);
  json.new_line()
      .member("num_nodes", graph.size())
      .member("num_strategies", costs.counters.strategies)
      .member("edges_before", costs.edges.size())
      .member("edges_after", costs.merged.edges.size());
  json.new_line().key("nodes").begin_array();
  for (std::size_t n = 0; n < graph.size(); ++n)
    write_node(graph[n], costs.strategies[n], json);
  json.end_array().new_line().key("edges");
  write_edges(costs, costs.edges, json);
  json.new_line().key("edges_merged");
  write_edges(costs, costs.merged.edges, json);
  write_merged(costs, json);
  json.end_object().finish();
}

}  // namespace shardwright
