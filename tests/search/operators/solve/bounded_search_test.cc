// The local search and the dual ascent together.
#include "search/operators/solve/bounded_search.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/explore.h"
#include "search/operators/solve/choice_graph.h"
#include "search/operators/solve/local_search.h"
#include "tests/support/operators/random_cost_instance.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::bounded_search_test {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::random_cost_instance;
using shardwright::test_support::RandomCostInstanceStyle;
using shardwright::test_support::ShufflingExecutor;

namespace {

CostInstance make_instance(std::uint64_t seed) {
  RandomCostInstanceStyle style;
  style.num_nodes = 400;
  style.max_strategies = 8;
  style.functional_share = 0.3;
  style.layer_width = 8;
  return CostInstance::make(random_cost_instance(seed, style)).value();
}

struct Found {
  std::vector<std::uint32_t> choice;
  double cost = 0;
  double bound = 0;
  StopReason stopped = StopReason::kFinished;
};

Found search_with(const CostInstance& instance, Executor& executor,
                  std::optional<std::uint64_t> work_limit, const StageParameters& parameters = {}) {
  const ChoiceGraph graph(instance);
  Budget budget(work_limit, std::nullopt);
  const auto first = first_feasible(graph, budget, 1);
  REQUIRE(first.has_value());
  LocalSearch search(graph, *first, executor.workers());
  DualAscent dual(instance);
  BoundedSearch both(search, dual, parameters);
  Found found;
  double bound = 0;
  found.stopped = explore(both, executor, budget, [&](const BoundedSearch& at) {
    CHECK(at.dual().bound() >= bound);
    bound = at.dual().bound();
  });
  found.choice.assign(search.best().begin(), search.best().end());
  found.cost = search.best_cost();
  found.bound = dual.bound();
  CHECK(evaluate(instance, found.choice).feasible());
  CHECK(found.cost < evaluate(instance, *first).total());
  CHECK(found.bound <= found.cost);
  CHECK(found.bound > 0.5 * found.cost);
  return found;
}

}  // namespace

TEST_CASE("bounded search: choice and bound are the same for any number of workers") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed);
    InlineExecutor one;
    const Found expected = search_with(instance, one, 40'000'000);
    CHECK(expected.stopped == StopReason::kWorkLimit);
    for (const unsigned workers : {1U, 2U, 3U}) {
      ShufflingExecutor executor(workers, seed);
      const Found found = search_with(instance, executor, 40'000'000);
      CHECK(found.choice == expected.choice);
      CHECK(found.bound == expected.bound);
    }
  }
}

TEST_CASE("bounded search: ends when neither the choice nor the bound gets better") {
  const CostInstance instance = make_instance(4);
  StageParameters parameters;
  parameters.patience = 50;
  parameters.last_stretch = 10;
  parameters.last_progress = 0.01;
  InlineExecutor executor;
  const Found found = search_with(instance, executor, std::nullopt, parameters);
  CHECK(found.stopped == StopReason::kFinished);
  // The local search has ended by then, but the dual ascent continues.
  parameters.patience = 1;
  const Found impatient = search_with(instance, executor, std::nullopt, parameters);
  CHECK(impatient.stopped == StopReason::kFinished);
  CHECK(impatient.bound > 0.9 * found.bound);
}

TEST_CASE("bounded search: ends where the bound proves the choice") {
  CostInstanceSpec spec;
  for (int node = 0; node < 10; ++node)
    spec.nodes.push_back({"", {3, 1, 2}});
  const CostInstance instance = CostInstance::make(std::move(spec)).value();
  const ChoiceGraph graph(instance);
  LocalSearch search(graph, std::vector<std::uint32_t>(10, 0), 1);
  DualAscent dual(instance);
  StageParameters parameters;
  parameters.patience = ~std::size_t{0};
  BoundedSearch both(search, dual, parameters);
  InlineExecutor executor;
  Budget budget(1'000'000'000, std::nullopt);
  CHECK(explore(both, executor, budget) == StopReason::kFinished);
  CHECK(search.best_cost() == 10);
  CHECK(dual.bound() == doctest::Approx(10));
}

}  // namespace shardwright::bounded_search_test
