// The solver of cost instances and its parts, compared with an enumeration of all choices.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/branch_and_bound.h"
#include "search/operators/solve/exact_search.h"
#include "search/operators/solve/message_passing.h"
#include "search/operators/solve/reduce.h"
#include "search/operators/solve/solve.h"
#include "tests/support/operators/naive_cost_solver.h"
#include "tests/support/operators/random_cost_instance.h"
#include "tests/support/random.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::solve_test {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::NaiveCostSolution;
using shardwright::test_support::Random;
using shardwright::test_support::random_cost_instance;
using shardwright::test_support::RandomCostInstanceStyle;
using shardwright::test_support::seeds;
using shardwright::test_support::ShufflingExecutor;
using shardwright::test_support::solve_naively;

namespace {

// Sums may have been added in another order.
bool same_cost(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

// Two to seven nodes of up to four strategies. Instances have forbidden strategies and pairs,
// functional and parallel edges, several usages per node, and binding limits.
CostInstanceSpec tiny(Random& random) {
  CostInstanceSpec spec;
  const std::size_t nodes = 2 + random.below(6);
  const bool fractions = random.below(3) == 0;
  const std::size_t largest = random.below(2) == 0 ? 10 : 1000;
  const auto cost = [&] {
    return fractions ? static_cast<double>(random.below(1000)) / 7
                     : static_cast<double>(random.below(largest));
  };
  for (std::size_t i = 0; i < nodes; ++i) {
    CostInstanceSpec::Node node;
    for (std::size_t s = 0; s <= random.below(4); ++s) {
      node.costs.push_back(random.below(15) == 0 ? kForbidden : cost());
    }
    if (node.costs.empty()) node.costs.push_back(cost());
    spec.nodes.push_back(std::move(node));
  }
  const bool forbids = random.below(3) > 0;
  for (std::size_t edges = random.below(2 * nodes); edges > 0; --edges) {
    const auto first = static_cast<std::uint32_t>(random.below(nodes));
    const auto second = static_cast<std::uint32_t>(random.below(nodes));
    if (first == second) continue;
    CostInstanceSpec::Matrix matrix;
    matrix.rows = static_cast<std::uint32_t>(spec.nodes[first].costs.size());
    matrix.columns = static_cast<std::uint32_t>(spec.nodes[second].costs.size());
    const bool functional = random.below(3) == 0;
    for (std::uint32_t row = 0; row < matrix.rows; ++row) {
      const std::size_t partner = random.below(matrix.columns);
      for (std::uint32_t column = 0; column < matrix.columns; ++column) {
        const bool allowed = functional ? column == partner : !forbids || random.below(4) > 0;
        matrix.entries.push_back(allowed ? cost() : kForbidden);
      }
    }
    spec.edges.push_back({first, second, static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back(std::move(matrix));
  }
  for (std::size_t usages = random.below(2 * nodes); usages > 0; --usages) {
    CostInstanceSpec::Usage usage;
    usage.node = static_cast<std::uint32_t>(random.below(nodes));
    usage.live.begin = static_cast<std::uint32_t>(random.below(5));
    usage.live.end = usage.live.begin + static_cast<std::uint32_t>(random.below(4));
    for (std::size_t s = 0; s < spec.nodes[usage.node].costs.size(); ++s) {
      usage.bytes.push_back(static_cast<std::int64_t>(random.below(20)));
    }
    spec.usages.push_back(std::move(usage));
  }
  for (std::size_t times = random.below(5); times > 0; --times) {
    spec.limits.push_back(static_cast<std::int64_t>(random.below(60)));
  }
  return spec;
}

CostInstance made(CostInstanceSpec spec) {
  Result<CostInstance> instance = CostInstance::make(std::move(spec));
  if (!instance.ok()) FAIL(instance.error().to_string());
  return std::move(instance).value();
}

// Calls check(instance, optimum) for `count` random instances. `optimum` is absent if no choice is
// feasible.
template <class Check>
void for_tiny_instances(std::uint64_t seed, int count, const Check& check) {
  Random random(seed);
  int feasible = 0;
  for (int i = 0; i < count; ++i) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed, ", instance ", i);
    const CostInstance instance = made(tiny(random));
    const std::optional<NaiveCostSolution> optimum = solve_naively(instance);
    feasible += optimum ? 1 : 0;
    check(instance, optimum);
  }
  CHECK(feasible > count / 3);
  CHECK(feasible < count);
}

}  // namespace

TEST_CASE("reduce: keeps the optimum, and expands to a choice of that cost") {
  for (const std::uint64_t seed : seeds({11})) {
    for_tiny_instances(seed, 3000, [](const CostInstance& instance, const auto& optimum) {
      const Reduction reduction = reduce(instance, Budget());
      if (reduction.infeasible) {
        CHECK_FALSE(optimum.has_value());
        return;
      }
      const auto core = solve_naively(*reduction.core);
      REQUIRE(core.has_value() == optimum.has_value());
      if (!core) return;
      CHECK(same_cost(core->cost + reduction.constant, optimum->cost));
      const CostEvaluation expanded = evaluate(instance, reduction.expand(core->choice));
      CHECK(expanded.feasible());
      CHECK(same_cost(expanded.total(), optimum->cost));
    });
  }
}

TEST_CASE("reduce: strategies that are not kept are never chosen") {
  for (const std::uint64_t seed : seeds({12})) {
    Random random(seed);
    for_tiny_instances(seed, 1000, [&](const CostInstance& instance, const auto&) {
      std::vector<char> kept(instance.num_strategies(), 1);
      for (char& each : kept)
        each = random.below(4) > 0 ? 1 : 0;
      const Reduction reduction = reduce(instance, Budget(), kept);
      if (reduction.infeasible) return;
      const auto core = solve_naively(*reduction.core);
      if (!core) return;
      const std::vector<std::uint32_t> choice = reduction.expand(core->choice);
      std::size_t first = 0;
      for (std::size_t node = 0; node < instance.num_nodes(); ++node) {
        CHECK(kept[first + choice[node]] != 0);
        first += instance.num_strategies(node);
      }
    });
  }
}

TEST_CASE("exact search: finds and proves the optimum, memory included") {
  for (const std::uint64_t seed : seeds({13})) {
    for_tiny_instances(seed, 3000, [](const CostInstance& instance, const auto& optimum) {
      const auto tree = BucketTree::make(instance, 1e9);
      REQUIRE(tree.has_value());
      Budget budget;
      const ExactResult result = search_exactly(*tree, {}, 1'000'000, budget);
      CHECK(result.finished);
      REQUIRE(result.choice.has_value() == optimum.has_value());
      if (!optimum) return;
      CHECK(evaluate(instance, *result.choice).feasible());
      CHECK(same_cost(result.cost, optimum->cost));
      CHECK(result.lower_bound <= optimum->cost * (1 + 1e-9) + 1e-9);
    });
  }
}

TEST_CASE("exact search: equal layers under tight limits, where prices do not decide") {
  RandomCostInstanceStyle style;
  style.num_nodes = 11;
  style.max_strategies = 3;
  style.functional_share = 0;
  style.layer_width = 2;
  style.repeated_share = 0.9;
  for (const double slack : {1.0, 1.05, 1.2}) {
    style.slack = slack;
    for (std::uint64_t seed = 1; seed <= 15; ++seed) {
      CAPTURE(slack);
      CAPTURE(seed);
      const CostInstance instance = made(random_cost_instance(seed, style));
      const std::optional<NaiveCostSolution> optimum = solve_naively(instance);
      REQUIRE(optimum.has_value());
      const auto tree = BucketTree::make(instance, 1e6);
      REQUIRE(tree.has_value());
      for (const bool known : {false, true}) {
        // Starts without a known solution, and from the optimum.
        KnownSolution start;
        if (known) start = {optimum->choice, optimum->cost, {}};
        // Without counts of equal nodes, and with counts after 1 or 50 labels.
        for (const std::size_t labels : {0U, 1U, 50U}) {
          CAPTURE(labels);
          ExactParameters parameters;
          parameters.counts.most_parts = labels > 0 ? 100'000 : 0;
          parameters.counts.first_labels = labels;
          Budget budget;
          const ExactResult result = search_exactly(*tree, start, 1'000'000, budget, parameters);
          CHECK(result.finished);
          CHECK(same_cost(result.cost, optimum->cost));
          CHECK(result.lower_bound == result.cost);
        }
      }
    }
  }
}

TEST_CASE("exact search: counts of equal nodes prove what lists of this length do not") {
  // Equal nodes hold much or cost much, and the limit admits some of them. Others hold little.
  Random random(5);
  CostInstanceSpec spec;
  spec.limits = {0};
  const auto add = [&](double cost, std::int64_t bytes) {
    const auto node = static_cast<std::uint32_t>(spec.nodes.size());
    spec.nodes.push_back({"", {0, cost}});
    spec.usages.push_back({node, {0, 1}, {bytes, 0}});
    spec.limits[0] += bytes * 45 / 100;
  };
  for (int i = 0; i < 20; ++i)
    add(1000, 100'000);
  for (int i = 0; i < 16; ++i) {
    const auto bytes = static_cast<std::int64_t>(500 + random.below(10'000));
    add(static_cast<double>(bytes) / 90 + static_cast<double>(random.below(1000)) / 100, bytes);
  }
  const CostInstance instance = made(std::move(spec));
  const auto tree = BucketTree::make(instance, 1e6);
  REQUIRE(tree.has_value());
  Budget budget;
  const ExactResult whole = search_exactly(*tree, {}, 50'000, budget);
  REQUIRE(whole.finished);
  CHECK_FALSE(search_exactly(*tree, {}, 5000, budget).finished);
  ExactParameters parameters;
  parameters.counts.most_parts = 1000;
  const ExactResult result = search_exactly(*tree, {}, 5000, budget, parameters);
  CHECK(result.finished);
  CHECK(same_cost(result.cost, whole.cost));
}

TEST_CASE("exact search: too few labels leave a bound and no proof") {
  RandomCostInstanceStyle style;
  style.num_nodes = 60;
  style.functional_share = 0;
  style.layer_width = 2;
  int unfinished = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = made(random_cost_instance(seed, style));
    const auto tree = BucketTree::make(instance, 1e7);
    if (!tree) continue;
    Budget budget;
    const ExactResult whole = search_exactly(*tree, {}, 1'000'000, budget);
    REQUIRE(whole.finished);
    const ExactResult part = search_exactly(*tree, {}, 40, budget);
    CHECK(part.lower_bound <= whole.cost * (1 + 1e-9));
    unfinished += part.finished ? 0 : 1;
    if (!part.choice) continue;
    CHECK(evaluate(instance, *part.choice).feasible());
    CHECK(part.cost >= whole.cost * (1 - 1e-9));
  }
  CHECK(unfinished > 0);
}

TEST_CASE("bucket tree: refuses tables beyond the limit") {
  const CostInstance instance = made(random_cost_instance(5));
  CHECK_FALSE(BucketTree::make(instance, 100).has_value());
}

TEST_CASE(
    "dual ascent: no bound is above the optimum, nor one for a strategy above its best choice") {
  for (const std::uint64_t seed : seeds({14})) {
    for_tiny_instances(seed, 2000, [](const CostInstance& instance, const auto& optimum) {
      const Reduction reduction = reduce(instance, Budget());
      if (reduction.infeasible || !optimum) return;
      const CostInstance& core = *reduction.core;
      const double best = optimum->cost - reduction.constant;
      DualAscent dual(core);
      Budget budget;
      for (int round = 0; round < 12; ++round) {
        dual.round(2, best, budget);
        CHECK(dual.bound() <= best + 1e-9 * (1 + std::abs(best)));
      }
      const auto solved = solve_naively(core);
      REQUIRE(solved.has_value());
      for (std::uint32_t node = 0; node < core.num_nodes(); ++node) {
        CHECK(dual.bound_with(node, solved->choice[node]) <= best + 1e-9 * (1 + std::abs(best)));
      }
    });
  }
}

TEST_CASE("branch and bound: finds and proves the optimum") {
  for (const std::uint64_t seed : seeds({15})) {
    for_tiny_instances(seed, 500, [](const CostInstance& instance, const auto& optimum) {
      InlineExecutor executor;
      Budget budget;
      const ExactResult result =
          branch_and_bound(instance, {}, 100'000, executor, budget, [](const auto&) {});
      CHECK(result.finished);
      REQUIRE(result.choice.has_value() == optimum.has_value());
      if (optimum) CHECK(same_cost(result.cost, optimum->cost));
    });
  }
}

TEST_CASE("branch and bound: proves the optimum without tables, by bounds and division alone") {
  SolverParameters parameters;
  parameters.branch.most_table_entries = 0;
  for_tiny_instances(22, 300, [&](const CostInstance& instance, const auto& optimum) {
    InlineExecutor executor;
    Budget budget;
    const ExactResult result = branch_and_bound(
        instance, {}, 100'000, executor, budget, [](const auto&) {}, parameters);
    CHECK(result.finished);
    REQUIRE(result.choice.has_value() == optimum.has_value());
    if (optimum) CHECK(same_cost(result.cost, optimum->cost));
  });
}

TEST_CASE("solve: with a cutoff, finds what is cheaper or proves that nothing is") {
  for_tiny_instances(23, 500, [](const CostInstance& instance, const auto& optimum) {
    if (!optimum) return;
    const double margin = 1e-9 * (1 + optimum->cost);
    for (const double difference : {-margin, margin}) {
      InlineExecutor executor;
      Budget budget;
      SolveOptions options;
      options.cutoff = optimum->cost + difference;
      options.prices.assign(instance.limits().size(), 1e-3);
      const SolveResult result = solve(instance, executor, budget, options);
      if (difference < 0) {
        CHECK(result.status == SolveStatus::kInfeasible);
      } else {
        REQUIRE(result.status == SolveStatus::kOptimal);
        CHECK(same_cost(result.objective, optimum->cost));
        CHECK((result.prices.empty() || result.prices.size() == instance.limits().size()));
      }
    }
  });
}

TEST_CASE("solve: optimal if a choice is feasible, infeasible otherwise") {
  for (const std::uint64_t seed : seeds({16})) {
    for_tiny_instances(seed, 2000, [](const CostInstance& instance, const auto& optimum) {
      InlineExecutor executor;
      Budget budget;
      const SolveResult result = solve(instance, executor, budget);
      REQUIRE(result.status == (optimum ? SolveStatus::kOptimal : SolveStatus::kInfeasible));
      if (!optimum) return;
      CHECK(same_cost(result.objective, optimum->cost));
      CHECK(result.objective == evaluate(instance, result.choice).total());
      CHECK(result.lower_bound == result.objective);
    });
  }
}

TEST_CASE("solve: the same answer for any number of workers under a work limit") {
  RandomCostInstanceStyle style;
  style.num_nodes = 1500;
  style.functional_share = 0.3;
  for (const std::uint64_t seed : seeds({17, 18})) {
    const CostInstance instance = made(random_cost_instance(seed, style));
    std::optional<SolveResult> first;
    for (const unsigned workers : {1U, 2U, 3U}) {
      INFO("SHARDWRIGHT_TEST_SEED=", seed, ", workers ", workers);
      ShufflingExecutor executor(workers, seed);
      Budget budget(30'000'000, {});
      SolveResult result = solve(instance, executor, budget);
      REQUIRE(!result.choice.empty());
      const CostEvaluation evaluation = evaluate(instance, result.choice);
      CHECK(evaluation.feasible());
      CHECK(evaluation.total() == result.objective);
      CHECK(result.lower_bound <= result.objective);
      if (!first) first = result;
      CHECK(result.choice == first->choice);
      CHECK(result.lower_bound == first->lower_bound);
      CHECK(result.status == first->status);
    }
  }
}

TEST_CASE("solve: an answer within the limits, however tight they are and whatever is forbidden") {
  RandomCostInstanceStyle style;
  style.num_nodes = 3000;
  style.min_strategies = 4;
  style.max_strategies = 20;
  for (const double functional_share : {0.0, 0.5, 0.9}) {
    for (const double long_lived_share : {0.0, 0.02}) {
      style.functional_share = functional_share;
      style.long_lived_share = long_lived_share;
      style.slack = 1.0;
      CAPTURE(functional_share);
      CAPTURE(long_lived_share);
      const CostInstance instance = made(random_cost_instance(21, style));
      InlineExecutor executor;
      Budget budget(100'000'000, {});
      const SolveResult result = solve(instance, executor, budget);
      REQUIRE(!result.choice.empty());
      CHECK(evaluate(instance, result.choice).feasible());
    }
  }
}

TEST_CASE("solve: a stop requested beforehand ends it at once") {
  std::stop_source source;
  source.request_stop();
  const CostInstance instance = made(random_cost_instance(19));
  InlineExecutor executor;
  Budget budget({}, {}, source.get_token());
  const SolveResult result = solve(instance, executor, budget);
  CHECK(result.status == SolveStatus::kUnknown);
  CHECK(result.stopped_by == StopReason::kCancelled);
}

}  // namespace shardwright::solve_test
