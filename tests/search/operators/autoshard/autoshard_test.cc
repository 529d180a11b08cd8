#include <doctest/doctest.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/autoshard/autoshard_graph.h"
#include "search/operators/autoshard/solver.h"
#include "tests/support/random.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::operators::autoshard::autoshard_test {
namespace {

using test_support::Random;

OpSpec op(std::string name, OpKind kind, std::vector<std::string> args,
          std::vector<std::int64_t> shape) {
  OpSpec spec;
  spec.name = std::move(name);
  spec.kind = kind;
  spec.args = std::move(args);
  spec.shape = std::move(shape);
  return spec;
}

std::shared_ptr<const Graph> made(std::vector<OpSpec> specs) {
  auto graph = Graph::make(std::move(specs));
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? std::string() : graph.error().to_string()));
  return std::make_shared<const Graph>(std::move(graph).value());
}

// Returns a random graph of at most `ops` operators of all kinds.
std::shared_ptr<const Graph> random_graph(std::size_t ops, Random& random) {
  std::vector<OpSpec> specs;
  for (std::size_t i = 0; i < ops; ++i) {
    const auto kind = i == 0 ? OpKind::kPlaceholder : static_cast<OpKind>(random.below(9));
    const auto extent = [&] { return static_cast<std::int64_t>(1 + random.below(9)); };
    OpSpec spec = op("op" + std::to_string(i), kind, {}, {extent(), extent(), extent()});
    std::size_t operands = kind == OpKind::kPlaceholder ? 0 : 1;
    if (kind == OpKind::kBinary || kind == OpKind::kMatmul) operands += random.below(2);
    if (kind == OpKind::kElementwise) operands += random.below(3);
    for (std::size_t k = 0; k < operands; ++k) {
      spec.args.push_back("op" + std::to_string(random.below(i)));
    }
    specs.push_back(std::move(spec));
  }
  return made(std::move(specs));
}

// Calls visit(assignment) for every assignment that the operators allow.
void for_each_assignment(const Request& request,
                         const std::function<void(const Assignment&)>& visit) {
  const Graph& graph = *request.graph;
  Assignment assignment(graph.size());
  const std::function<void(std::size_t)> descend = [&](std::size_t i) {
    if (i == graph.size()) return visit(assignment);
    const bool decides = specs_from_first(graph, i, Spec::kRR, request.model)->count > 0;
    for (const Spec spec : {Spec::kRR, Spec::kRS, Spec::kSR}) {
      if (!decides && spec != Spec::kRR) continue;
      const auto specs = specs_from_first(graph, i, spec, request.model);
      if (!specs) continue;
      assignment[i] = *specs;
      descend(i + 1);
    }
  };
  descend(0);
}

std::int64_t scaled_cost(const Request& request, const Assignment& assignment) {
  const auto result = evaluate(*request.graph, assignment, request.devices, request.model);
  REQUIRE(result.ok());
  return result->scaled_total;
}

struct BruteForce {
  std::int64_t scaled_optimum = std::numeric_limits<std::int64_t>::max();
  std::uint64_t num_optimal = 0;
  std::vector<std::pair<std::int64_t, Assignment>> all;
};

BruteForce brute_force(const Request& request) {
  BruteForce result;
  for_each_assignment(request, [&](const Assignment& assignment) {
    const std::int64_t cost = scaled_cost(request, assignment);
    result.all.emplace_back(cost, assignment);
    if (cost < result.scaled_optimum) result.num_optimal = 0;
    result.scaled_optimum = std::min(result.scaled_optimum, cost);
    if (cost == result.scaled_optimum) ++result.num_optimal;
  });
  return result;
}

Request random_request(Random& random) {
  constexpr std::int64_t kDevices[] = {1, 2, 3, 4, 6, 7, 8};
  return {random_graph(2 + random.below(8), random), kDevices[random.below(7)],
          random.below(2) == 0 ? CostModel::kV1 : CostModel::kV2};
}

TEST_CASE("autoshard: optimum and number of optima equal those of trying everything") {
  for (const std::uint64_t seed : test_support::seeds({1, 2, 3})) {
    CAPTURE(seed);
    Random random(seed);
    std::uint64_t ties = 0;
    for (int round = 0; round < 60; ++round) {
      const Request request = random_request(random);
      const BruteForce expected = brute_force(request);
      const auto solution = solve(request);
      REQUIRE(solution.ok());
      CHECK(solution->scaled_optimum == expected.scaled_optimum);
      CHECK(solution->num_optimal == expected.num_optimal);
      CHECK(scaled_cost(request, solution->assignment) == expected.scaled_optimum);
      ties += expected.num_optimal > 1 ? 1U : 0U;
    }
    CHECK(ties > 0);
  }
}

TEST_CASE(
    "autoshard: the totals of the loop fall strictly and end at the optimum, for any oracle") {
  Random random(17);
  for (int round = 0; round < 40; ++round) {
    const Request request = random_request(random);
    const BruteForce expected = brute_force(request);
    Solver solver;
    REQUIRE(solver.prove(request).ok());
    const Oracle own = [&](std::int64_t bound) { return solver.find_below(bound); };
    const Oracle any = [&](std::int64_t bound) -> std::optional<Assignment> {
      std::vector<const Assignment*> below;
      for (const auto& [cost, assignment] : expected.all) {
        if (cost < bound) below.push_back(&assignment);
      }
      if (below.empty()) return std::nullopt;
      return *below[random.below(below.size())];
    };
    for (const Oracle& oracle : {own, any}) {
      std::int64_t last = std::numeric_limits<std::int64_t>::max();
      std::size_t calls = 0;
      const auto improved = improve(request, oracle, [&](const Iteration& iteration) {
        CHECK(iteration.index == calls++);
        CHECK(iteration.evaluation.scaled_total < last);
        last = iteration.evaluation.scaled_total;
      });
      REQUIRE(improved.ok());
      CHECK(improved->exhausted);
      CHECK(improved->iterations == calls);
      CHECK(last == expected.scaled_optimum);
    }
  }
}

TEST_CASE(
    "autoshard: the oracle finds an assignment below every bound above the optimum, and none "
    "otherwise") {
  Random random(5);
  for (int round = 0; round < 40; ++round) {
    const Request request = random_request(random);
    Solver solver;
    REQUIRE(solver.prove(request).ok());
    for (std::int64_t above = 1; above < 5000; above += 1 + above / 3) {
      const std::int64_t bound = solver.scaled_optimum() + above;
      const auto found = solver.find_below(bound);
      REQUIRE(found.has_value());
      CHECK(scaled_cost(request, *found) < bound);
    }
    CHECK(!solver.find_below(solver.scaled_optimum()).has_value());
  }
}

TEST_CASE("autoshard: an oracle that does not improve is an error") {
  const Request request{
      made({op("x", OpKind::kPlaceholder, {}, {8, 8}), op("w", OpKind::kMatmul, {"x"}, {8, 8})}), 2,
      CostModel::kV2};
  const Assignment stubborn{{}, {2, {Spec::kRS, Spec::kSR}}};
  const auto improved = improve(
      request, [&](std::int64_t) { return std::optional(stubborn); }, [](const Iteration&) {});
  REQUIRE(!improved.ok());
  CHECK(improved.error().code == ErrorCode::kVerificationFailed);
  CHECK(improved.error().where == "/iterations/1");
}

TEST_CASE("autoshard: many requests give the same answers for any number of workers") {
  Random random(23);
  std::vector<Request> requests;
  for (int i = 0; i < 60; ++i) {
    requests.push_back({random_graph(2 + random.below(40), random), 4, CostModel::kV2});
  }
  requests.push_back({requests[0].graph, 0, CostModel::kV2});
  InlineExecutor inline_executor;
  const auto expected = solve_all(requests, inline_executor);
  for (const unsigned workers : {1U, 2U, 4U, 8U}) {
    test_support::ShufflingExecutor executor(workers, workers);
    const auto solutions = solve_all(requests, executor);
    REQUIRE(solutions.size() == expected.size());
    for (std::size_t i = 0; i + 1 < solutions.size(); ++i) {
      REQUIRE(expected[i].ok());
      REQUIRE(solutions[i].ok());
      CHECK(*solutions[i] == *expected[i]);
    }
    REQUIRE(!solutions.back().ok());
    CHECK(solutions.back().error().where == "/p");
  }
}

TEST_CASE("autoshard: many parallel branches are solved in a good elimination order") {
  // In the order of the graph, 60 outputs are needed at once when the sums begin.
  std::vector<OpSpec> specs{op("x", OpKind::kPlaceholder, {}, {64, 64}),
                            op("norm", OpKind::kSoftmax, {"x"}, {64, 64})};
  constexpr int kBranches = 60;
  for (int i = 0; i < kBranches; ++i) {
    specs.push_back(op("w" + std::to_string(i), OpKind::kMatmul, {"norm"}, {64, 64}));
  }
  std::string sum = "w0";
  for (int i = 1; i < kBranches; ++i) {
    const std::string next = "sum" + std::to_string(i);
    specs.push_back(op(next, OpKind::kBinary, {sum, "w" + std::to_string(i)}, {64, 64}));
    sum = next;
  }
  const auto solution = solve({made(std::move(specs)), 8, CostModel::kV2});
  REQUIRE(solution.ok());
  CHECK(solution->optimum == 64 * 64 / 8);  // all stay RS, and the sum is gathered once
}

TEST_CASE("autoshard: counts of optima saturate") {
  std::vector<OpSpec> specs{op("x", OpKind::kPlaceholder, {}, {1, 1})};
  for (int i = 0; i < 80; ++i) {
    specs.push_back(op("v" + std::to_string(i), OpKind::kView, {"x"}, {1, 1}));
  }
  const auto graph = made(std::move(specs));
  // A volume of one element on two devices is truncated to 0, and slicing is free in v1, so every
  // choice of specs is optimal.
  const auto many = solve({graph, 2, CostModel::kV1});
  REQUIRE(many.ok());
  CHECK(many->optimum == 0);
  CHECK(many->num_optimal == std::numeric_limits<std::uint64_t>::max());
}

TEST_CASE("autoshard: a graph with too many dependencies is refused quickly, with the place") {
  Random random(3);
  std::vector<OpSpec> specs{op("x", OpKind::kPlaceholder, {}, {8, 8})};
  for (int i = 0; i < 200; ++i) {
    const auto any = [&] {
      const std::size_t arg = random.below(specs.size());
      return specs[arg].name;
    };
    specs.push_back(op("w" + std::to_string(i), OpKind::kMatmul, {any(), any()}, {8, 8}));
  }
  const auto solution = solve({made(std::move(specs)), 2, CostModel::kV2});
  REQUIRE(!solution.ok());
  CHECK(solution.error().code == ErrorCode::kUnsupported);
  CHECK(solution.error().where.starts_with("/graph/"));
}

TEST_CASE("autoshard: the Megatron schedule in the notation of both generations") {
  OpSpec first = op("h", OpKind::kMatmul, {"x"}, {4, 16});
  OpSpec second = op("y", OpKind::kMatmul, {"h"}, {4, 4});
  first.module = "layer.fc1";
  second.module = "layer.fc2";
  const auto graph = made({op("x", OpKind::kPlaceholder, {}, {4, 4}), first, second});
  const Assignment megatron{{}, {2, {Spec::kRR, Spec::kRS}}, {2, {Spec::kRS, Spec::kSR}}};
  CHECK(schedule(*graph, megatron, CostModel::kV2) ==
        std::vector<std::string>{
            "sch[\"layer.fc1\"].shard(\"weight\", axis=0)",
            "sch[\"layer.fc1\"].shard(\"bias\", axis=0)",
            "sch[\"layer.fc2\"].shard(\"weight\", axis=1)",
            "sch[\"layer.fc2\"].sync(mode=\"fwd_post\", sync_op_or_fn=\"all_reduce\")"});
  CHECK(schedule(*graph, megatron, CostModel::kV1).front() ==
        "sch[\"layer.fc1\"].shard(\"weight\", dim=0)");
  const Assignment gathered{{}, {2, {Spec::kSR, Spec::kRR}}, {2, {Spec::kRR, Spec::kRS}}};
  CHECK(schedule(*graph, gathered, CostModel::kV2) ==
        std::vector<std::string>{"sch[\"layer.fc2\"].shard(\"weight\", axis=0)",
                                 "sch[\"layer.fc2\"].shard(\"bias\", axis=0)",
                                 "sch[\"h\"].sync(mode=\"fwd_pre\", sync_op_or_fn=\"RR->SR\")",
                                 "sch[\"y\"].sync(mode=\"fwd_pre\", sync_op_or_fn=\"SR->RR\")",
                                 "sch[\"y\"].sync(mode=\"fwd_post\", sync_op_or_fn=\"RS->RR\")"});
}

}  // namespace
}  // namespace shardwright::operators::autoshard::autoshard_test
