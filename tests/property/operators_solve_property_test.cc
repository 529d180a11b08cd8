// Solutions of operator problems, compared with an enumeration of all choices: soft budgets,
// infeasible budgets, degenerate instances.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/operators/solve.h"
#include "tests/support/random.h"

namespace shardwright::operators_solve_property_test {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::Random;
using shardwright::test_support::seeds;

namespace {

bool same_cost(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

// Returns an instance of up to four strategies per node, whose limits allow every choice.
CostInstanceSpec tiny(Random& random, std::size_t nodes, std::size_t edges) {
  CostInstanceSpec spec;
  for (std::uint32_t n = 0; n < nodes; ++n) {
    CostInstanceSpec::Node node;
    CostInstanceSpec::Usage usage;
    usage.node = n;
    usage.live.begin = static_cast<std::uint32_t>(random.below(4));
    usage.live.end = usage.live.begin + 1 + static_cast<std::uint32_t>(random.below(3));
    for (std::size_t count = 1 + random.below(4); count > 0; --count) {
      node.costs.push_back(static_cast<double>(random.below(200)));
      usage.bytes.push_back(static_cast<std::int64_t>(random.below(30)));
    }
    spec.nodes.push_back(std::move(node));
    spec.usages.push_back(std::move(usage));
  }
  for (; edges > 0 && nodes > 1; --edges) {
    const auto first = static_cast<std::uint32_t>(random.below(nodes - 1));
    const auto second = static_cast<std::uint32_t>(first + 1 + random.below(nodes - first - 1));
    CostInstanceSpec::Matrix matrix;
    matrix.rows = static_cast<std::uint32_t>(spec.nodes[first].costs.size());
    matrix.columns = static_cast<std::uint32_t>(spec.nodes[second].costs.size());
    for (std::size_t i = std::size_t{matrix.rows} * matrix.columns; i > 0; --i) {
      matrix.entries.push_back(random.below(6) == 0 ? kForbidden
                                                    : static_cast<double>(random.below(100)));
    }
    spec.edges.push_back({first, second, static_cast<std::uint32_t>(spec.matrices.size())});
    spec.matrices.push_back(std::move(matrix));
  }
  spec.limits.assign(6, 1'000'000);
  return spec;
}

template <class Visit>
void for_each_choice(const CostInstance& instance, const Visit& visit) {
  std::vector<std::uint32_t> choice(instance.num_nodes(), 0);
  for (;;) {
    visit(choice);
    std::size_t node = 0;
    while (node < choice.size() && ++choice[node] == instance.num_strategies(node))
      choice[node++] = 0;
    if (node == choice.size()) return;
  }
}

// Returns the least cost(evaluation) of all choices that are not forbidden, or kForbidden if there
// is none.
template <class Cost>
double least_by_hand(const CostInstance& instance, const Cost& cost) {
  double least = kForbidden;
  for_each_choice(instance, [&](const std::vector<std::uint32_t>& choice) {
    const CostEvaluation evaluation = evaluate(instance, choice);
    if (evaluation.total() < kForbidden) least = std::min(least, cost(evaluation));
  });
  return least;
}

OperatorsResult solved(const OperatorProblem& problem, int threads = 1) {
  OperatorsOptions options;
  options.threads = threads;
  return solve_operators(problem, options).value();
}

CostInstance made(CostInstanceSpec spec) { return CostInstance::make(std::move(spec)).value(); }

}  // namespace

TEST_CASE("soft budget: the cheapest sum of cost and overrun, and its parts") {
  for (const std::uint64_t seed : seeds({1, 2})) {
    Random random(seed);
    int over = 0;
    int within = 0;
    for (int i = 0; i < 300; ++i) {
      INFO("SHARDWRIGHT_TEST_SEED=", seed, ", instance ", i);
      OperatorProblem problem{LoweredInstance(made(tiny(random, 1 + random.below(6), 5)))};
      SoftBudget budget;
      budget.bytes = static_cast<std::int64_t>(random.below(60));
      budget.cost_per_byte = static_cast<double>(random.below(12)) / 2;
      problem.soft_budget = budget;
      const auto overrun = [&](std::int64_t peak) {
        return budget.cost_per_byte *
               static_cast<double>(std::max<std::int64_t>(0, peak - budget.bytes));
      };
      const CostInstance& instance = problem.lowered.instance();
      const double least = least_by_hand(instance, [&](const CostEvaluation& evaluation) {
        return evaluation.total() + overrun(evaluation.peak_bytes);
      });
      const OperatorsResult result = solved(problem);
      if (least == kForbidden) {
        CHECK(result.status == SolveStatus::kInfeasible);
        continue;
      }
      REQUIRE(result.status == SolveStatus::kOptimal);
      CHECK(same_cost(result.objective, least));
      CHECK(result.lower_bound == result.objective);
      const CostEvaluation evaluation = evaluate(instance, result.choice);
      CHECK(result.peak_bytes == evaluation.peak_bytes);
      CHECK(same_cost(result.overbudget_cost, overrun(evaluation.peak_bytes)));
      CHECK(same_cost(result.objective, evaluation.total() + result.overbudget_cost));
      CHECK(solved(problem, 2).choice == result.choice);
      (result.overbudget_cost > 0 ? over : within) += 1;
    }
    CHECK(over > 20);
    CHECK(within > 20);
  }
}

TEST_CASE("budget: infeasible below the smallest peak, a proved optimum from there on") {
  for (const std::uint64_t seed : seeds({3, 4})) {
    Random random(seed);
    int checked = 0;
    for (int i = 0; i < 150; ++i) {
      INFO("SHARDWRIGHT_TEST_SEED=", seed, ", instance ", i);
      const CostInstance instance = made(tiny(random, 1 + random.below(6), 5));
      const double smallest = least_by_hand(instance, [](const CostEvaluation& evaluation) {
        return static_cast<double>(evaluation.peak_bytes);
      });
      if (smallest == kForbidden) continue;
      const auto peak = static_cast<std::int64_t>(smallest);
      double before = kForbidden;
      for (std::int64_t budget = std::max<std::int64_t>(0, peak - 2); budget <= peak + 6;
           ++budget) {
        const OperatorProblem problem{LoweredInstance(
            instance.with_limits(std::vector<std::int64_t>(instance.limits().size(), budget)))};
        const OperatorsResult result = solved(problem);
        if (budget < peak) {
          CHECK(result.status == SolveStatus::kInfeasible);
          CHECK(result.choice.empty());
          continue;
        }
        REQUIRE(result.status == SolveStatus::kOptimal);
        const double least = least_by_hand(instance, [&](const CostEvaluation& evaluation) {
          return evaluation.peak_bytes <= budget ? evaluation.total() : kForbidden;
        });
        CHECK(same_cost(result.objective, least));
        CHECK(result.peak_bytes <= budget);
        CHECK(result.objective <= before);
        before = result.objective;
        ++checked;
      }
    }
    CHECK(checked > 300);
  }
}

TEST_CASE("degenerate instances: one node, no edges, no nodes") {
  Random random(5);
  for (int i = 0; i < 100; ++i) {
    CAPTURE(i);
    for (const std::size_t nodes : {std::size_t{1}, std::size_t{5}}) {
      const CostInstance instance = made(tiny(random, nodes, 0));
      const std::vector<std::int64_t> limits(instance.limits().size(),
                                             static_cast<std::int64_t>(random.below(60)));
      const CostInstance limited = instance.with_limits(limits);
      const double least = least_by_hand(limited, [&](const CostEvaluation& evaluation) {
        return evaluation.over_limit_at ? kForbidden : evaluation.total();
      });
      const OperatorsResult result = solved(OperatorProblem{LoweredInstance(limited)});
      REQUIRE((result.status == SolveStatus::kOptimal) == (least < kForbidden));
      if (least < kForbidden) CHECK(same_cost(result.objective, least));
    }
  }
  const OperatorsResult nothing = solved(OperatorProblem{LoweredInstance(made({}))});
  CHECK(nothing.status == SolveStatus::kOptimal);
  CHECK(nothing.choice.empty());
  CHECK(nothing.objective == 0);
}

TEST_CASE("largest cost: an optimum above it is not an answer") {
  Random random(6);
  for (int i = 0; i < 60; ++i) {
    CAPTURE(i);
    OperatorProblem problem{LoweredInstance(made(tiny(random, 5, 4)))};
    const OperatorsResult free = solved(problem);
    if (free.status != SolveStatus::kOptimal) continue;
    problem.max_cost = free.objective;
    CHECK(solved(problem).objective == free.objective);
    if (free.objective < 1) continue;
    problem.max_cost = free.objective - 0.5;
    CHECK(solved(problem).status == SolveStatus::kInfeasible);
  }
}

}  // namespace shardwright::operators_solve_property_test
