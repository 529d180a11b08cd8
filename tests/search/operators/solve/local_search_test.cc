// The local search over cost instances and its parts, compared with slow and simple ones.
#include "search/operators/solve/local_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "search/explore.h"
#include "search/operators/solve/block_picker.h"
#include "search/operators/solve/block_solver.h"
#include "search/operators/solve/choice_graph.h"
#include "search/random.h"
#include "tests/support/operators/naive_cost_solver.h"
#include "tests/support/operators/random_cost_instance.h"
#include "tests/support/random.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::local_search_test {

using namespace shardwright;
using namespace shardwright::operators;
using shardwright::test_support::Random;
using shardwright::test_support::random_cost_instance;
using shardwright::test_support::RandomCostInstanceStyle;
using shardwright::test_support::ShufflingExecutor;
using shardwright::test_support::solve_naively;

namespace {

CostInstance make_instance(std::uint64_t seed, std::size_t nodes, std::uint32_t strategies,
                           double functional_share) {
  RandomCostInstanceStyle style;
  style.num_nodes = nodes;
  style.max_strategies = strategies;
  style.functional_share = functional_share;
  style.layer_width = std::min<std::size_t>(nodes, 8);
  return CostInstance::make(random_cost_instance(seed, style)).value();
}

std::vector<std::uint32_t> feasible_choice(const CostInstance& instance, const ChoiceGraph& graph) {
  Budget budget;
  const auto choice = first_feasible(graph, budget, 1);
  REQUIRE(choice.has_value());
  REQUIRE(evaluate(instance, *choice).feasible());
  return *choice;
}

std::vector<std::uint32_t> search_with(const CostInstance& instance, Executor& executor,
                                       std::uint64_t work_limit) {
  const ChoiceGraph graph(instance);
  LocalSearch search(graph, feasible_choice(instance, graph), executor.workers());
  Budget budget(work_limit, std::nullopt);
  CHECK(explore(search, executor, budget) == StopReason::kWorkLimit);
  return {search.best().begin(), search.best().end()};
}

// Returns the cost of `choice` that concerns the nodes of a block and the edges around it, at the
// prices of the state.
double naive_priced_cost(const ChoiceGraph& graph, const SearchState& state,
                         const std::vector<std::uint32_t>& choice) {
  double cost = 0;
  for (std::size_t n = 0; n < choice.size(); ++n) {
    cost += state.priced[graph.first_strategy(n) + choice[n]];
    for (const ChoiceGraph::Arc& arc : graph.arcs(n)) {
      if (arc.node > n) cost += graph.row(n, arc, choice[arc.node])[choice[n]];
    }
  }
  return cost;
}

}  // namespace

TEST_CASE("usage profile: maxima of ranges are those of an array") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    const std::size_t times = 1 + random.below(70);
    std::vector<std::int64_t> limits, excess;
    for (std::size_t t = 0; t < times; ++t) {
      limits.push_back(static_cast<std::int64_t>(random.below(1000)));
      excess.push_back(-limits.back());
    }
    UsageProfile profile(limits);
    for (int step = 0; step < 200; ++step) {
      const std::size_t begin = random.below(times), end = begin + 1 + random.below(times - begin);
      const auto first = excess.begin() + static_cast<std::ptrdiff_t>(begin);
      const auto last = excess.begin() + static_cast<std::ptrdiff_t>(end);
      const auto worst = std::max_element(first, last);
      CHECK(profile.max_excess(begin, end) == *worst);
      CHECK(profile.most_exceeded(begin, end) == static_cast<std::size_t>(worst - excess.begin()));
      const std::int64_t bytes = static_cast<std::int64_t>(random.below(400)) - 200;
      profile.add(begin, end, bytes);
      std::for_each(first, last, [&](std::int64_t& held) { held += bytes; });
      CHECK(profile.max_excess() == *std::max_element(excess.begin(), excess.end()));
    }
  }
}

TEST_CASE("choice graph: the remaining time points decide feasibility") {
  int infeasible = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed, 30, 5, 0.0);
    const ChoiceGraph graph(instance);
    CHECK(graph.limits().size() <= instance.limits().size());
    Random random(seed);
    SearchState state(graph);
    std::vector<std::uint32_t> choice;
    for (std::size_t n = 0; n < instance.num_nodes(); ++n) {
      choice.push_back(static_cast<std::uint32_t>(random.below(instance.num_strategies(n))));
    }
    state.set_choice(choice);
    const bool over = evaluate(instance, choice).over_limit_at.has_value();
    CHECK((state.profile.max_excess() > 0) == over);
    infeasible += over ? 1 : 0;
  }
  CHECK(infeasible > 0);
}

TEST_CASE("block solver: no other choice in the block is cheaper, and the gain is the difference") {
  int improved = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed, 24, 4, 0.3);
    const ChoiceGraph graph(instance);
    Random random(seed);
    SearchState state(graph);
    for (double& price : state.prices)
      price = random.below(3) == 0 ? 0.01 : 0.0;
    state.update_priced();
    state.set_choice(feasible_choice(instance, graph));
    const std::uint32_t first = static_cast<std::uint32_t>(random.below(18));
    const std::vector<std::uint32_t> block{first, first + 1, first + 2, first + 3, first + 5};
    BlockSolver solver(graph, 100000);
    const auto outcome = solver.solve(state, state.choice, block, false, seed);

    const double before = naive_priced_cost(graph, state, state.choice);
    double least = before;
    std::vector<std::uint32_t> choice = state.choice;
    for (const std::uint32_t n : block)
      choice[n] = 0;
    for (std::size_t digit = 0; digit < block.size();) {
      least = std::min(least, naive_priced_cost(graph, state, choice));
      for (digit = 0; digit < block.size(); ++digit) {
        if (++choice[block[digit]] < graph.num_strategies(block[digit])) break;
        choice[block[digit]] = 0;
      }
    }
    CHECK(outcome.gain == doctest::Approx(before - least).epsilon(1e-9));
    std::vector<std::uint32_t> found = state.choice;
    for (const ChoiceChange& change : solver.changed())
      found[change.node] = change.strategy;
    CHECK(naive_priced_cost(graph, state, found) == doctest::Approx(least).epsilon(1e-12));
    improved += outcome.improved ? 1 : 0;
  }
  CHECK(improved > 30);
}

TEST_CASE("first feasible: finds a choice through functional edges and tight limits") {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed, 2000, 12, 0.9);
    const ChoiceGraph graph(instance);
    feasible_choice(instance, graph);
  }
}

TEST_CASE("first feasible: nothing is found if no choice is allowed") {
  CostInstanceSpec spec;
  spec.nodes = {{"a", {1, 2}}, {"b", {1, 2}}};
  spec.matrices = {{2, 2, {kForbidden, kForbidden, kForbidden, kForbidden}}};
  spec.edges = {{0, 1, 0}};
  const CostInstance instance = CostInstance::make(spec).value();
  const ChoiceGraph graph(instance);
  Budget budget;
  CHECK_FALSE(first_feasible(graph, budget, 1).has_value());
}

TEST_CASE("local search: every better choice is feasible and costs what it says") {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed, 300, 8, 0.5);
    const ChoiceGraph graph(instance);
    const std::vector<std::uint32_t> first = feasible_choice(instance, graph);
    LocalSearch search(graph, first, 1);
    InlineExecutor executor;
    Budget budget(60'000'000, std::nullopt);
    explore(search, executor, budget, [&](const LocalSearch& found) {
      const CostEvaluation evaluation = evaluate(instance, found.best());
      REQUIRE(evaluation.feasible());
      REQUIRE(evaluation.total() == doctest::Approx(found.best_cost()).epsilon(1e-9));
    });
    CHECK(search.best_cost() < evaluate(instance, first).total());
  }
}

TEST_CASE("local search: the same work finds the same choice with any number of workers") {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed, 400, 8, 0.5);
    InlineExecutor one;
    const std::vector<std::uint32_t> expected = search_with(instance, one, 5'000'000);
    for (const unsigned workers : {1U, 2U, 3U}) {
      ShufflingExecutor executor(workers, seed);
      CHECK(search_with(instance, executor, 5'000'000) == expected);
    }
  }
}

TEST_CASE("local search: reaches the optimum of tiny instances") {
  int reached = 0;
  constexpr int kInstances = 30;
  for (std::uint64_t seed = 1; seed <= kInstances; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed, 9, 4, 0.3);
    const auto optimum = solve_naively(instance);
    REQUIRE(optimum.has_value());
    InlineExecutor executor;
    const double cost = evaluate(instance, search_with(instance, executor, 300'000)).total();
    REQUIRE(cost >= optimum->cost * (1 - 1e-12));
    reached += cost <= optimum->cost * (1 + 1e-9) ? 1 : 0;
  }
  // With memory limits, some optima are optimal for no prices.
  CHECK(reached >= kInstances - 3);
}

TEST_CASE("block arms: an arm whose blocks take long gets a share of the work, not of the blocks") {
  const ArmParameters parameters;
  BlockArms arms(parameters, true);
  RandomGenerator random(1);
  std::vector<double> blocks(20, 0);
  double work = 0;
  double work_of_slow = 0;
  std::uint32_t slow = 0;
  while (arms.shape(slow).size != parameters.largest_ball)
    ++slow;
  for (int batch = 0; batch < 4000; ++batch) {
    arms.update_shares();
    arms.fade();
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t arm = arms.draw(random);
      const double own = arm == slow ? 1e7 : 1e5;
      arms.add_block(arm, own);
      if (arm != slow) arms.add_gain(arm, 1);
      blocks.at(arm) += 1;
      work += own;
      if (arm == slow) work_of_slow += own;
    }
  }
  for (const double count : blocks)
    CHECK(count > 0);
  // If blocks were shared equally, the slow arm would take three quarters of the work.
  CHECK(work_of_slow < 0.2 * work);
}

TEST_CASE("local search: a forbidden suggestion changes nothing") {
  LocalSearchParameters parameters;  // the next line makes cycles short
  parameters.strict_passes = 1;
  parameters.relaxation.first_steps = {2, 2};
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    CAPTURE(seed);
    const CostInstance instance = make_instance(seed, 300, 8, 0.5);
    const ChoiceGraph graph(instance);
    const std::vector<std::uint32_t> first = feasible_choice(instance, graph);
    const std::vector<double> prices(instance.limits().size(), 0);
    const auto found_with = [&](const std::vector<std::uint32_t>& suggested) {
      LocalSearch search(graph, first, 1, {}, parameters);
      if (!suggested.empty()) search.suggest(suggested, prices);
      InlineExecutor executor;
      Budget budget(40'000'000, std::nullopt);
      explore(search, executor, budget);
      CHECK(evaluate(instance, search.best()).feasible());
      return std::vector<std::uint32_t>(search.best().begin(), search.best().end());
    };
    found_with(first);
    std::vector<std::uint32_t> forbidden(instance.num_nodes(), 0);
    REQUIRE(evaluate(instance, forbidden).total() >= kForbidden);
    CHECK(found_with(forbidden) == found_with({}));
  }
}

}  // namespace shardwright::local_search_test
