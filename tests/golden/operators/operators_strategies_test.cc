// ColossalAI's recorded strategies of single operators and of all nodes of whole graphs.
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>
#include <nlohmann/json.hpp>

#include "runtime/execution/planning_executor.h"
#include "runtime/io/file.h"
#include "runtime/io/operators/op_graph_json.h"
#include "runtime/io/operators/strategies_json.h"
#include "search/operators/strategies/generate.h"

namespace shardwright::operators_strategies_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;
using nlohmann::json;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

std::string load_text(const std::string& name) {
  return require(read_file("tests/golden/operators/" + name + ".json.gz"));
}

NamedStrategies answer(const StrategyRecord& record) {
  auto table = std::make_shared<SpecTable>(record.mesh);
  ReshardPlanner planner(*table, PathCost::kCompat);
  NodeStrategies strategies =
      require(generate_chain(record.graph, record.chain, record.options, *table, planner));
  return {record.id, std::move(table), std::move(strategies)};
}

std::string written(const std::vector<NamedStrategies>& answers) {
  std::string text;
  write_strategies(answers, [&](std::string_view piece) { text += piece; });
  return text;
}

struct Graph {
  OpGraph graph;
  std::shared_ptr<SpecTable> table;
  std::vector<NodeStrategies> nodes;
};

Graph generate(const std::string& name, std::vector<std::uint32_t> mesh_shape, Executor& executor) {
  OpGraph graph = require(read_op_graph(load_text("graphs/" + name)));
  auto table =
      std::make_shared<SpecTable>(require(DeviceMesh::make({std::move(mesh_shape), {}, {}, {}})));
  ReshardPlanner planner(*table, PathCost::kCompat);
  std::vector<NodeStrategies> nodes =
      require(generate_strategies(graph, *table, planner, executor));
  return {std::move(graph), std::move(table), std::move(nodes)};
}

// Writes specs without brackets, as in the answers for whole graphs.
json specs_of(const NodeStrategies& of, std::size_t s) {
  json specs = json::object();
  for (const Operand& operand : of.operands()) {
    json texts = json::array();
    for (const ShardingSpec* spec : of.specs(s, operand))
      texts.push_back(spec->dims.to_string());
    specs[operand.name] = operand.tuple ? texts : texts[0];
  }
  return specs;
}

json strategy_of(const NodeStrategies& of, std::size_t s) {
  return {{"name", of.name(s)},
          {"specs", specs_of(of, s)},
          {"compute", of[s].compute.total},
          {"comm", of[s].comm.total},
          {"mem", of[s].budget_bytes()}};
}

void check_graph(const std::string& graph_name, const std::string& answer_name,
                 std::vector<std::uint32_t> mesh_shape, std::size_t num_strategies) {
  InlineExecutor executor;
  const Graph made = generate(graph_name, std::move(mesh_shape), executor);
  const json expected = json::parse(load_text(answer_name)).at("nodes");
  REQUIRE(made.nodes.size() == expected.size());
  std::size_t compared = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(made.graph[i].name);
    const json& strategies = expected[i].at("strategies");
    CHECK(made.graph[i].name == expected[i].at("name").get<std::string>());
    REQUIRE(made.nodes[i].size() == strategies.size());
    for (std::size_t s = 0; s < strategies.size(); ++s, ++compared)
      CHECK(strategy_of(made.nodes[i], s) == strategies[s]);
  }
  CHECK(compared == num_strategies);
}

}  // namespace

TEST_CASE(
    "strategies: single operators have ColossalAI's strategies, in order and to the last bit") {
  const std::string text = load_text("strategies");
  const std::vector<StrategyRecord> records = require(read_strategy_records(text));
  const json expected = json::parse(text).at("records");
  REQUIRE(records.size() == 55);
  REQUIRE(expected.size() == records.size());
  std::size_t compared = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    const json got = json::parse(written({answer(records[i])})).at("records").at(0);
    CAPTURE(records[i].id);
    CHECK(got.at("id") == expected[i].at("id"));
    CHECK(got.at("count") == expected[i].at("expected").at("count"));
    const json& strategies = expected[i].at("expected").at("strategies");
    REQUIRE(got.at("strategies").size() == strategies.size());
    for (std::size_t s = 0; s < strategies.size(); ++s, ++compared)
      CHECK(got["strategies"][s] == strategies[s]);
  }
  CHECK(compared == 763);
}

TEST_CASE("strategies: every node of ResNet-50 has ColossalAI's strategies") {
  check_graph("resnet50_b128_32x32", "colossal_resnet50_2x2", {2, 2}, 2356);
}

TEST_CASE("strategies: every node of a perceptron has ColossalAI's strategies, on two meshes") {
  check_graph("mlp", "colossal_mlp_2x2", {2, 2}, 83);
  check_graph("mlp", "colossal_mlp_2x4", {2, 4}, 83);
}

TEST_CASE("strategies: every node of GPT-2's blocks has ColossalAI's strategies") {
  check_graph("gpt2_mlp", "colossal_gpt2_mlp_2x2", {2, 2}, 192);
  check_graph("gpt2_attn", "colossal_gpt2_attn_2x2", {2, 2}, 326);
}

TEST_CASE("strategies: any number of workers gives the same strategies") {
  InlineExecutor inline_executor;
  const Graph expected = generate("gpt2_attn", {2, 2}, inline_executor);
  for (const int threads : {1, 2, 4, 8}) {
    PlanningExecutor executor(threads);
    for (int round = 0; round < 3; ++round) {
      const Graph made = generate("gpt2_attn", {2, 2}, executor);
      CHECK(made.table->num_specs() == expected.table->num_specs());
      for (std::size_t i = 0; i < expected.nodes.size(); ++i) {
        REQUIRE(made.nodes[i].size() == expected.nodes[i].size());
        for (std::size_t s = 0; s < expected.nodes[i].size(); ++s)
          CHECK(strategy_of(made.nodes[i], s) == strategy_of(expected.nodes[i], s));
      }
    }
  }
}

TEST_CASE("strategies: ResNet-50 needs no more specs than it has placements") {
  InlineExecutor executor;
  const Graph made = generate("resnet50_b128_32x32", {2, 2}, executor);
  CHECK(made.table->num_specs() <= 497);
}

}  // namespace shardwright::operators_strategies_test
