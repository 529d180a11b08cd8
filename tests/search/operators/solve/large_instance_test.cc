// The solver on instances as large as models: 10^5 nodes, 1.5 * 10^5 edges, binding limits.
#include <doctest/doctest.h>

#include <chrono>
#include <optional>
#include <utility>

#include "search/operators/solve/solve.h"
#include "tests/support/operators/random_cost_instance.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::large_instance_test {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::random_cost_instance;
using shardwright::test_support::RandomCostInstanceStyle;
using shardwright::test_support::ShufflingExecutor;

TEST_CASE("solve: 10^5 nodes have an answer within seconds, the same for any number of workers") {
  using Clock = std::chrono::steady_clock;
  for (const double functional_share : {0.0, 0.8}) {
    CAPTURE(functional_share);
    RandomCostInstanceStyle style;
    style.num_nodes = 100'000;
    style.min_strategies = 4;
    style.max_strategies = 20;
    style.functional_share = functional_share;
    style.long_lived_share = 0.02;
    const CostInstance instance = CostInstance::make(random_cost_instance(1, style)).value();
    std::optional<SolveResult> expected;
    for (const unsigned workers : {1U, 2U}) {
      CAPTURE(workers);
      ShufflingExecutor executor(workers, 1);
      Budget budget(800'000'000, std::nullopt);
      const Clock::time_point begin = Clock::now();
      std::optional<Clock::time_point> first;
      double first_cost = 0;
      SolveOptions options;
      options.on_progress = [&](const SolveResult& found) {
        if (first || found.choice.empty()) return;
        first = Clock::now();
        first_cost = found.objective;
      };
      SolveResult result = solve(instance, executor, budget, options);
      REQUIRE(first.has_value());
      // The first choice should take 5 s. Busy machines take longer.
      CHECK(std::chrono::duration<double>(*first - begin).count() <= 15);
      const CostEvaluation evaluation = evaluate(instance, result.choice);
      CHECK(evaluation.feasible());
      CHECK(evaluation.total() == result.objective);
      CHECK(result.lower_bound <= result.objective);
      CHECK(result.objective < 0.9 * first_cost);
      CHECK(result.stopped_by == StopReason::kWorkLimit);
      if (!expected) expected = result;
      CHECK(result.choice == expected->choice);
      CHECK(result.lower_bound == expected->lower_bound);
    }
  }
}

}  // namespace shardwright::large_instance_test
