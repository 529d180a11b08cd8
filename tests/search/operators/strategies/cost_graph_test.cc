// Cost graphs of operator graphs that are small enough to check by hand.
#include "search/operators/strategies/cost_graph.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "search/executor.h"
#include "search/operators/strategies/reshard_path.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::cost_graph_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::ShufflingExecutor;

std::shared_ptr<const DeviceMesh> mesh_of(std::vector<std::uint32_t> shape) {
  DeviceMeshSpec spec;
  spec.shape = std::move(shape);
  auto mesh = DeviceMesh::make(std::move(spec));
  REQUIRE(mesh.ok());
  return std::move(mesh).value();
}

OpNode node(std::string name, OpKind kind, OpCall call, std::vector<Extents> shapes,
            std::vector<std::uint32_t> inputs) {
  OpNode made;
  made.name = std::move(name);
  made.kind = kind;
  made.call = call;
  made.tuple = shapes.size() > 1;
  made.shapes = std::move(shapes);
  made.inputs = std::move(inputs);
  return made;
}

OpGraph graph_of(std::vector<OpNode> nodes, OpGraphOptions options = {}) {
  OpGraphSpec spec;
  spec.name = "graph";
  spec.options = options;
  spec.nodes = std::move(nodes);
  auto graph = OpGraph::make(std::move(spec));
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? std::string() : graph.error().to_string()));
  return std::move(graph).value();
}

// x and weights w, v: relu(x w') v', whose two halves are added. ' transposes.
OpGraph split_graph() {
  std::vector<OpNode> nodes{
      node("x", OpKind::kPlaceholder, OpCall::kNone, {{16, 32}}, {}),
      node("w", OpKind::kGetAttr, OpCall::kNone, {{64, 32}}, {}),
      node("v", OpKind::kGetAttr, OpCall::kNone, {{64, 64}}, {}),
      node("up", OpKind::kLinear, OpCall::kFunction, {{16, 64}}, {0, 1}),
      node("act", OpKind::kRelu, OpCall::kFunction, {{16, 64}}, {3}),
      node("down", OpKind::kLinear, OpCall::kFunction, {{16, 64}}, {4, 2}),
      node("split", OpKind::kSplit, OpCall::kMethod, {{16, 32}, {16, 32}}, {5}),
      node("left", OpKind::kGetitem, OpCall::kFunction, {{16, 32}}, {6}),
      node("right", OpKind::kGetitem, OpCall::kFunction, {{16, 32}}, {6}),
      node("sum", OpKind::kAdd, OpCall::kFunction, {{16, 32}}, {7, 8}),
      node("output", OpKind::kOutput, OpCall::kNone, {{16, 32}}, {9})};
  nodes[1].is_param = true;
  nodes[2].is_param = true;
  nodes[6].attrs.split_size = 32;
  nodes[6].attrs.dims = {1};
  for (const std::size_t n : {7U, 8U}) {
    IndexEntry entry;
    entry.number = static_cast<std::int64_t>(n) - 7;
    nodes[n].attrs.index = {entry};
  }
  return graph_of(std::move(nodes));
}

CostGraph build(const OpGraph& graph, std::vector<std::uint32_t> shape, Executor& executor) {
  auto costs = build_cost_graph(graph, mesh_of(std::move(shape)), executor);
  REQUIRE_MESSAGE(costs.ok(), (costs.ok() ? std::string() : costs.error().to_string()));
  return std::move(costs).value();
}

CostGraph build(const OpGraph& graph, std::vector<std::uint32_t> shape) {
  InlineExecutor executor;
  return build(graph, std::move(shape), executor);
}

}  // namespace

TEST_CASE("cost graph: one edge per node and input, in that order") {
  const OpGraph graph = split_graph();
  const CostGraph costs = build(graph, {2, 2});
  std::size_t e = 0;
  for (std::uint32_t n = 0; n < graph.size(); ++n) {
    for (const std::uint32_t input : graph[n].inputs) {
      REQUIRE(e < costs.edges.size());
      CHECK(costs.edges[e].first == input);
      CHECK(costs.edges[e].second == n);
      CHECK(costs.matrix(costs.edges[e]).rows == costs.strategies[input].size());
      CHECK(costs.matrix(costs.edges[e]).columns == costs.strategies[n].size());
      ++e;
    }
  }
  CHECK(e == costs.edges.size());
}

TEST_CASE("cost graph: an entry is the sum of the conversion costs of all tensors, in bytes") {
  const OpGraph graph = split_graph();
  const CostGraph costs = build(graph, {2, 4});
  bool saw_tuple = false;
  double sum_of_entries = 0;
  for (const CostEdge& edge : costs.edges) {
    const NodeStrategies& producer = costs.strategies[edge.first];
    const NodeStrategies& consumer = costs.strategies[edge.second];
    std::size_t input = 0;
    while (graph[edge.second].inputs[input] != edge.first)
      ++input;
    const CostMatrix& matrix = costs.matrix(edge);
    saw_tuple = saw_tuple || graph[edge.first].tuple;
    for (std::size_t i = 0; i < producer.size(); ++i) {
      for (std::size_t j = 0; j < consumer.size(); ++j) {
        double expected = 0;
        const auto from = producer.output_specs(i);
        const auto to = consumer.input_specs(j, input);
        REQUIRE(from.size() == to.size());
        for (std::size_t t = 0; t < from.size(); ++t) {
          expected += 4 * find_reshard_path(*costs.table, *from[t]->shape, from[t]->dims,
                                            to[t]->dims, PathCost::kCompat)
                              .cost.total;
        }
        REQUIRE(matrix.entries[i * matrix.columns + j] == expected);
        sum_of_entries += expected;
      }
    }
  }
  CHECK(saw_tuple);
  CHECK(sum_of_entries > 0);
}

TEST_CASE("cost graph: element types of one, four and eight bytes count as many bytes") {
  const auto entries = [](ElementType type) {
    std::vector<OpNode> nodes{node("x", OpKind::kGetAttr, OpCall::kNone, {{8, 8}}, {}),
                              node("output", OpKind::kOutput, OpCall::kNone, {{8, 8}}, {0})};
    nodes[0].type = type;
    const CostGraph costs = build(graph_of(std::move(nodes)), {2, 2});
    return costs.matrix(costs.edges[0]).entries;
  };
  const std::vector<double> of_bytes = entries(ElementType::kBool);
  const std::vector<double> of_floats = entries(ElementType::kFloat32);
  const std::vector<double> of_integers = entries(ElementType::kInt64);
  REQUIRE(of_bytes.size() == of_floats.size());
  REQUIRE(of_bytes.size() == of_integers.size());
  CHECK(of_bytes[0] > 0);
  for (std::size_t i = 0; i < of_bytes.size(); ++i) {
    CHECK(of_floats[i] == of_bytes[i] * 4);
    CHECK(of_integers[i] == of_bytes[i] * 8);
  }
}

TEST_CASE("cost graph: scalars cost nothing") {
  const OpGraph graph = graph_of({node("x", OpKind::kGetAttr, OpCall::kNone, {{}}, {}),
                                  node("output", OpKind::kOutput, OpCall::kNone, {{}}, {0})});
  const CostGraph costs = build(graph, {2, 2});
  CHECK(costs.matrix(costs.edges[0]).entries == std::vector<double>{0});
}

TEST_CASE("cost graph: edges between equal specs share a matrix") {
  // The same layer, ten times.
  std::vector<OpNode> nodes{node("x", OpKind::kPlaceholder, OpCall::kNone, {{16, 16}}, {})};
  for (int layer = 0; layer < 10; ++layer) {
    const auto at = static_cast<std::uint32_t>(nodes.size());
    const std::string suffix = std::to_string(layer);
    nodes.push_back(node("w" + suffix, OpKind::kGetAttr, OpCall::kNone, {{16, 16}}, {}));
    nodes.push_back(
        node("mm" + suffix, OpKind::kLinear, OpCall::kFunction, {{16, 16}}, {at - 1, at}));
  }
  const CostGraph costs = build(graph_of(std::move(nodes)), {2, 2});
  CHECK(costs.edges.size() == 20);
  CHECK(costs.edges[2].matrix == costs.edges[18].matrix);
  CHECK(costs.edges[1].matrix == costs.edges[19].matrix);
  CHECK(costs.edges[0].matrix != costs.edges[2].matrix);
}

TEST_CASE("cost graph: any number of workers in any order builds the same graph") {
  const OpGraph graph = split_graph();
  const CostGraph expected = build(graph, {2, 2});
  for (const unsigned workers : {1U, 2U, 3U, 8U}) {
    for (std::uint64_t seed = 0; seed < 3; ++seed) {
      CAPTURE(workers);
      ShufflingExecutor executor(workers, seed);
      const CostGraph costs = build(graph, {2, 2}, executor);
      CHECK(executor.ranges() > 1);
      REQUIRE(costs.edges.size() == expected.edges.size());
      for (std::size_t e = 0; e < costs.edges.size(); ++e) {
        REQUIRE(costs.edges[e].matrix == expected.edges[e].matrix);
        REQUIRE(costs.matrix(costs.edges[e]).entries == expected.matrix(expected.edges[e]).entries);
      }
      CHECK(costs.merged.follows == expected.merged.follows);
      CHECK(costs.merged.extra == expected.merged.extra);
      for (std::size_t n = 0; n < graph.size(); ++n) {
        REQUIRE(costs.strategies[n].size() == expected.strategies[n].size());
        for (std::size_t s = 0; s < costs.strategies[n].size(); ++s)
          REQUIRE(costs.strategies[n].name(s) == expected.strategies[n].name(s));
      }
    }
  }
}

TEST_CASE("cost graph: copies share specs and outlive the original") {
  const OpGraph graph = split_graph();
  CostGraph copy;
  {
    const CostGraph costs = build(graph, {2, 2});
    copy = costs;
    CHECK(copy.strategies[3].output_specs(0)[0] == costs.strategies[3].output_specs(0)[0]);
  }
  CHECK(copy.strategies[3].output_specs(0)[0]->dims.rank() == 2);
}

TEST_CASE("cost graph: lowering adds up costs, bytes and the costs that merging added") {
  const OpGraph graph = split_graph();
  const CostGraph costs = build(graph, {2, 2});
  const auto merged = lower(graph, costs, {true, 1'000'000});
  const auto whole = lower(graph, costs, {false, std::nullopt});
  REQUIRE(merged.ok());
  REQUIRE(whole.ok());
  CHECK(whole->lowered.instance().num_nodes() == graph.size());
  CHECK(whole->lowered.instance().limits().empty());
  CHECK(merged->lowered.instance().limits()[0] == 1'000'000);
  CHECK(merged->lowered.variables()[4] == merged->lowered.variables()[3]);
  CHECK(whole->lowered.variables()[4] != whole->lowered.variables()[3]);
  CHECK(merged->strategy_names[3].size() == costs.strategies[3].size());
  const CostInstance& graph_costs = merged->lowered.graph();
  const auto& strategy = costs.strategies[3][0];
  CHECK(graph_costs.costs(3)[0] ==
        strategy.compute.total + strategy.comm.total + costs.merged.extra[3][0]);
  CHECK(whole->lowered.graph().costs(3)[0] == strategy.compute.total + strategy.comm.total);
}

TEST_CASE("cost graph: an operator that cannot run under the options is infeasible") {
  OpGraphOptions options;
  options.shard_option = ShardOption::kShard;
  const OpGraph graph = graph_of({node("w", OpKind::kGetAttr, OpCall::kNone, {{3, 5}}, {}),
                                  node("output", OpKind::kOutput, OpCall::kNone, {{3, 5}}, {0})},
                                 options);
  InlineExecutor executor;
  const auto costs = build_cost_graph(graph, mesh_of({2, 2}), executor);
  REQUIRE_FALSE(costs.ok());
  CHECK(costs.error().code == ErrorCode::kInfeasible);
  CHECK(costs.error().where == "/nodes/0");
}

}  // namespace shardwright::cost_graph_test
