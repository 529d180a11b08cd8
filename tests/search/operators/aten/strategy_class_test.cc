#include "search/operators/aten/strategy_class.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/operators/aten_builder.h"

namespace shardwright::strategy_class_test {

namespace {

using namespace shardwright::operators;
using test_support::AtenBuilder;

std::size_t num_strategies(const AtenGraph& graph, std::uint32_t node,
                           const redistribution::MeshShape& mesh) {
  return make_strategies(graph, graph[node], mesh, *find_compute_device("H100")).value().size();
}

}  // namespace

TEST_CASE("strategies: every axis takes an entry, and no device stays without elements") {
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", {8, 2});
  const auto y = b.mm(x, b.placeholder(AtenRole::kInput, "w", {2, 2}));
  b.output(y, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  CHECK(num_strategies(graph, x, {2}) == 3);
  CHECK(num_strategies(graph, x, {4}) == 2);  // dimension 1 has two elements
  CHECK(num_strategies(graph, x, {2, 2}) == 9 - 1);
  CHECK(num_strategies(graph, y, {2}) == 4);
  // A dimension of two elements has no S1 S1 or S1 S0.
  CHECK(num_strategies(graph, y, {2, 2}) == 16 - 2);
}

TEST_CASE("strategies: the axes of an entry divide what it splits") {
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", {12});
  const auto y = b.node("aten.view.default", {x}, {6, 2}, {{{"R"}, {"R"}}, {{"S0"}, {"S0"}, 6}});
  b.last().view = true;
  b.output(y, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  CHECK(num_strategies(graph, y, {2}) == 2);
  CHECK(num_strategies(graph, y, {3}) == 2);
  CHECK(num_strategies(graph, y, {4}) == 1);
  CHECK(num_strategies(graph, y, {2, 3}) == 4);
  CHECK(num_strategies(graph, y, {2, 2}) == 3);  // at most one axis shards it
}

TEST_CASE("strategies: reductions that do not commute are left out") {
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", {8});
  const auto y = b.node("op", {x}, {8}, {{{"P"}, {"S0"}}, {{"Pmax"}, {"S0"}}, {{"P"}, {"S0"}}});
  const auto z = b.node("op", {y}, {8}, {{{"R"}, {"R"}}});
  b.output(z, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  CHECK(num_strategies(graph, y, {2, 2}) == 2);
}

TEST_CASE("strategies: more than 20,000 are an error") {
  // 36 entries on three axes are 36^3 strategies.
  const std::vector<std::int64_t> shape(6, 8);
  std::vector<AtenBuilder::Entry> pairs;
  for (int i = 0; i < 36; ++i)
    pairs.push_back({{"R"}, {"S" + std::to_string(i / 6), "S" + std::to_string(i % 6)}});
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", shape);
  const auto w = b.placeholder(AtenRole::kInput, "w", shape);
  const auto y = b.node("op", {x, w}, shape, pairs);
  b.output(y, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  CHECK(num_strategies(graph, y, {2, 2}) == 36 * 36);
  const auto many = make_strategies(graph, graph[y], {2, 2, 2}, *find_compute_device("H100"));
  REQUIRE_FALSE(many.ok());
  CHECK(many.error().code == ErrorCode::kUnsupported);
}

}  // namespace shardwright::strategy_class_test
