#include "core/operators/autoshard/autoshard_graph.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace shardwright::operators::autoshard::autoshard_evaluate_test {
namespace {

OpSpec op(std::string name, OpKind kind, std::vector<std::string> args,
          std::vector<std::int64_t> shape) {
  OpSpec spec;
  spec.name = std::move(name);
  spec.kind = kind;
  spec.args = std::move(args);
  spec.shape = std::move(shape);
  return spec;
}

Graph made(std::vector<OpSpec> specs) {
  auto graph = Graph::make(std::move(specs));
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? std::string() : graph.error().to_string()));
  return std::move(graph).value();
}

std::string failure(std::vector<OpSpec> specs) {
  const auto graph = Graph::make(std::move(specs));
  REQUIRE(!graph.ok());
  CHECK(graph.error().code == ErrorCode::kInvalidInput);
  return graph.error().where;
}

constexpr OpSpecs kNone{};
constexpr OpSpecs one(Spec spec) { return {1, {spec, Spec::kRR}}; }
constexpr OpSpecs two(Spec first, Spec second) { return {2, {first, second}}; }

TEST_CASE("autoshard costs: resharding moves whole elements, truncated") {
  const auto cost = [](Spec from, Spec to, std::int64_t elements, std::int64_t devices) {
    return reshard_cost(from, to, elements, devices, CostModel::kV2);
  };
  CHECK(cost(Spec::kRS, Spec::kRR, 1024 * 4096, 8) == 524288);
  CHECK(cost(Spec::kRS, Spec::kSR, 1024 * 4096, 8) == 458752);
  CHECK(cost(Spec::kSR, Spec::kRR, 1024 * 1024, 8) == 131072);
  CHECK(cost(Spec::kSR, Spec::kRR, 4194304, 3) == 1398101);
  CHECK(cost(Spec::kSR, Spec::kRS, 4194304, 3) == 932067);
  CHECK(cost(Spec::kRS, Spec::kRR, 4194304, 6) == 699050);
  CHECK(cost(Spec::kRS, Spec::kSR, 4194304, 6) == 582542);
  CHECK(cost(Spec::kRR, Spec::kSR, 4194304, 6) == 1);
  CHECK(cost(Spec::kSR, Spec::kSR, 4194304, 6) == 0);
  CHECK(reshard_cost(Spec::kRR, Spec::kSR, 4194304, 6, CostModel::kV1) == 0);
}

TEST_CASE(
    "autoshard evaluate: a view of a tensor sharded in its last dimension has a cost besides "
    "resharding") {
  const Graph graph =
      made({op("x", OpKind::kPlaceholder, {}, {2, 5}), op("w", OpKind::kMatmul, {"x"}, {2, 7}),
            op("v", OpKind::kView, {"w"}, {2, 7, 1})});
  const Assignment assignment{kNone, two(Spec::kRR, Spec::kRS), one(Spec::kRR)};
  const auto v2 = evaluate(graph, assignment, 3, CostModel::kV2);
  REQUIRE(v2.ok());
  REQUIRE(v2->rows.size() == 5);
  CHECK(v2->rows[2].name == "v");
  CHECK(v2->rows[2].cost == 14.0 / 3.0);  // not truncated
  CHECK(v2->rows[3].name == "|-w");
  CHECK(v2->rows[3].cost == 4);  // 14 / 3, truncated
  CHECK(v2->rows[4].name == "output");
  CHECK(v2->scaled_total == 14 + 3 * 4);
  CHECK(v2->total == 26.0 / 3.0);
  // Cost model v1 does not connect views to their producer, which becomes an output.
  const auto v1 = evaluate(graph, assignment, 3, CostModel::kV1);
  REQUIRE(v1.ok());
  REQUIRE(v1->rows.size() == 5);
  CHECK(v1->rows[2].name == "output");
  CHECK(v1->rows[2].cost == 4);
  CHECK(v1->rows[3].name == "v");
  CHECK(v1->total == 4);
}

TEST_CASE("autoshard evaluate: generations differ in sizes, layer norm and permute") {
  const Graph graph = made({op("x", OpKind::kPlaceholder, {}, {4, 8, 16}),
                            op("w", OpKind::kMatmul, {"x"}, {4, 8, 16}),
                            op("p", OpKind::kPermute, {"w"}, {8, 4, 16}),
                            op("n", OpKind::kLayerNorm, {"p"}, {8, 4, 16})});
  CHECK(graph.elements(0, CostModel::kV1) == 128);
  CHECK(graph.elements(0, CostModel::kV2) == 512);
  const auto v1 =
      evaluate(graph, {kNone, two(Spec::kSR, Spec::kRR), kNone, kNone}, 2, CostModel::kV1);
  REQUIRE(v1.ok());
  CHECK(v1->total == 0);  // permute turns SR into RR
  const auto v2 =
      evaluate(graph, {kNone, two(Spec::kSR, Spec::kRR), kNone, one(Spec::kSR)}, 2, CostModel::kV2);
  REQUIRE(v2.ok());
  CHECK(v2->total == 1 + 256);
  const auto all_reduce =
      evaluate(graph, {kNone, two(Spec::kRS, Spec::kSR), kNone, one(Spec::kRR)}, 2, CostModel::kV2);
  REQUIRE(all_reduce.ok());
  CHECK(all_reduce->total == 1 + 512);  // not divided by the number of devices
}

TEST_CASE("autoshard evaluate: elementwise operators follow only their first operand") {
  const Graph graph =
      made({op("x", OpKind::kPlaceholder, {}, {8, 8}), op("mask", OpKind::kPlaceholder, {}, {}),
            op("w", OpKind::kMatmul, {"x"}, {8, 8}),
            op("where", OpKind::kElementwise, {"mask", "w"}, {8, 8})});
  const auto result =
      evaluate(graph, {kNone, kNone, two(Spec::kRR, Spec::kRS), kNone}, 2, CostModel::kV2);
  REQUIRE(result.ok());
  CHECK(result->total == 0);
  CHECK(graph.elements(1, CostModel::kV2) == 1);
}

TEST_CASE(
    "autoshard evaluate: assignments that an operator does not allow are refused with their "
    "place") {
  const Graph graph =
      made({op("x", OpKind::kPlaceholder, {}, {8, 8}), op("a/n", OpKind::kLayerNorm, {"x"}, {8, 8}),
            op("w", OpKind::kMatmul, {"a/n"}, {8, 8})});
  const auto place = [&](const Assignment& assignment) {
    const auto result = evaluate(graph, assignment, 2, CostModel::kV2);
    REQUIRE(!result.ok());
    return result.error().where;
  };
  const OpSpecs good = two(Spec::kSR, Spec::kRR);
  CHECK(evaluate(graph, {kNone, one(Spec::kSR), good}, 2, CostModel::kV2).ok());
  CHECK(place({kNone, one(Spec::kRS), good}) == "/assignment/a~1n");
  CHECK(place({kNone, kNone, good}) == "/assignment/a~1n");
  CHECK(place({kNone, {0, {Spec::kRS, Spec::kRR}}, good}) == "/assignment/a~1n");
  CHECK(place({one(Spec::kRR), one(Spec::kRR), good}) == "/assignment/x");
  CHECK(place({kNone, one(Spec::kRR), two(Spec::kSR, Spec::kSR)}) == "/assignment/w");
  CHECK(place({kNone, one(Spec::kRR)}) == "/assignment");
}

TEST_CASE("autoshard request: device counts out of range and costs too large are refused") {
  const Graph graph = made({op("x", OpKind::kPlaceholder, {}, {std::int64_t{1} << 53})});
  CHECK(check_request(graph, 0).error().where == "/p");
  CHECK(check_request(graph, kMaxDevices + 1).error().where == "/p");
  CHECK(check_request(graph, 8).ok());
  const Status too_large = check_request(graph, 1000);
  REQUIRE(!too_large.ok());
  CHECK(too_large.error().code == ErrorCode::kUnsupported);
  CHECK(too_large.error().where == "/graph");
}

TEST_CASE("autoshard graph: every broken rule is an error with its place") {
  const OpSpec x = op("x", OpKind::kPlaceholder, {}, {8, 8});
  const auto with = [&](OpSpec second) { return failure({x, std::move(second)}); };
  CHECK(failure({}) == "/graph");
  CHECK(failure({op("", OpKind::kPlaceholder, {}, {})}) == "/graph/0/name");
  CHECK(with(op("x", OpKind::kElementwise, {"x"}, {8})) == "/graph/1/name");
  CHECK(with(op("y", OpKind::kElementwise, {"z"}, {8})) == "/graph/1/args/0");
  CHECK(with(op("y", OpKind::kBinary, {"x", "y"}, {8})) == "/graph/1/args/1");
  CHECK(failure({op("y", OpKind::kElementwise, {"x"}, {8}), x}) == "/graph/0/args/0");
  CHECK(with(op("y", OpKind::kElementwise, {}, {8})) == "/graph/1/args");
  CHECK(with(op("y", OpKind::kBinary, {"x", "x", "x"}, {8})) == "/graph/1/args");
  CHECK(with(op("y", OpKind::kPlaceholder, {"x"}, {8})) == "/graph/1/args");
  CHECK(with(op("y", OpKind::kView, {}, {8})) == "/graph/1/args");
  CHECK(with(op("y", OpKind::kElementwise, {"x"}, {8, 0})) == "/graph/1/shape/1");
  CHECK(with(op("y", OpKind::kElementwise, {"x"}, {-1, 8})) == "/graph/1/shape/0");
  CHECK(with(op("y", OpKind::kElementwise, {"x"}, {std::int64_t{1} << 40, 1 << 14})) ==
        "/graph/1/shape");
  OpSpec linear = op("y", OpKind::kMatmul, {"x", "x"}, {8});
  linear.module = "y";
  CHECK(with(linear) == "/graph/1/args");
  OpSpec prev = op("y", OpKind::kSoftmax, {"x"}, {8});
  prev.prev = "x";
  CHECK(with(prev) == "/graph/1/prev");
  prev.kind = OpKind::kView;
  prev.prev = "w";
  CHECK(with(prev) == "/graph/1/prev");
  OpSpec other = op("v", OpKind::kView, {"x"}, {8});
  other.prev = "y";
  CHECK(failure({x, op("y", OpKind::kElementwise, {"x"}, {8}), other}) == "/graph/2/prev");
}

TEST_CASE("autoshard graph: prev alone names the operand") {
  OpSpec view = op("v", OpKind::kView, {}, {64});
  view.prev = "x";
  const Graph graph = made({op("x", OpKind::kPlaceholder, {}, {8, 8}), view});
  REQUIRE(graph.args(1, CostModel::kV2).size() == 1);
  CHECK(graph.args(1, CostModel::kV1).empty());
  CHECK(!graph.is_output(0, CostModel::kV2));
  CHECK(graph.is_output(0, CostModel::kV1));
}

}  // namespace
}  // namespace shardwright::operators::autoshard::autoshard_evaluate_test
