// Independent searches of best mode, and the search among the choices of their plans.
#include "search/embedding/best/merging_search.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "runtime/execution/processes/thread_exchange.h"
#include "search/embedding/best/best_search.h"
#include "search/explore.h"
#include "search/search_group.h"
#include "tests/support/embedding/small_models.h"
#include "tests/support/shuffling_executor.h"

namespace shardwright::merging_search_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// Every search takes a few rounds.
BestParameters short_searches() {
  BestParameters parameters;
  parameters.lanes.annealing_lanes = 3;
  parameters.lanes.neighbourhood_lanes = 1;
  parameters.merging.begin_work = 300'000;
  parameters.merging.first_work = 200'000;
  parameters.merging.round_work = 20'000;
  return parameters;
}

// Runs rounds of the lanes until another search has ended. Returns its plan.
RatedAllocation run_one(MergingSearch& merging, const Plan& best_known) {
  RatedAllocation best;
  PlanCopies copies;
  const std::uint64_t ended = merging.num_ended();
  while (merging.num_ended() == ended) {
    merging.begin_round(best_known, {});
    std::uint64_t work = 0;
    for (std::size_t lane = 0; lane < merging.lanes().size(); ++lane)
      work += merging.lanes().run(lane, merging.round_work(), 0, {});
    const FoundAllocation found = merging.best_of_lanes(0);
    if (found.rated != nullptr) best = *found.rated;
    merging.take_in(found.rated, work, work, copies);
  }
  return best;
}

// A plan of a short search with all lanes.
Plan first_plan(const Model& model) {
  BestSearch search(model.choices, 3, false);
  InlineExecutor executor;
  Budget budget(300'000, {});
  explore(search, executor, budget);
  REQUIRE(search.best().has_value());
  return search.best()->plan;
}

using Option = std::size_t;

std::set<Option> options_of(const ChoiceModel& model) {
  std::set<Option> options;
  for (const Choice& choice : model.choices())
    options.insert(choice.option.index());
  return options;
}

void add_options(const Model& model, const Allocation& plan, std::set<Option>& options) {
  for (const std::uint32_t choice : plan.choice)
    options.insert(model.choices.choices()[choice].option.index());
}

struct Answer {
  double rating = 0;
  double bound = 0;
  std::uint64_t work = 0;
  std::vector<std::uint32_t> choices;
  std::vector<ImprovementStep> steps;
};

Answer search(const Model& model, const BestParameters& parameters, Executor& executor,
              Exchange* exchange = nullptr) {
  SearchGroup group(exchange);
  BestSearch search(model.choices, 5, true, parameters, {}, &group);
  Budget budget(4'000'000, {});
  explore(search, executor, budget);
  REQUIRE(search.best().has_value());
  const Allocation found = *to_allocation(model.choices, search.best()->plan);
  return {search.best()->rating, search.bound(), budget.work_done(), found.choice, search.steps()};
}

void check_equal(const Answer& a, const Answer& b) {
  CHECK(a.rating == b.rating);
  CHECK(a.bound == b.bound);
  CHECK(a.work == b.work);
  CHECK(a.choices == b.choices);
  CHECK(a.steps.size() == b.steps.size());
}

}  // namespace

TEST_CASE("merging search: a model of the choices of all plans follows independent searches") {
  const Model model(forty_tables(60));
  MergingSearch merging(model.context, 7, short_searches());
  const Plan known = first_plan(model);
  std::set<Option> merged;
  add_options(model, *to_allocation(model.choices, known), merged);
  for (int i = 0; i < 3; ++i) {
    const RatedAllocation own = run_one(merging, known);
    check_by_verifier(model, own);
    add_options(model, own.allocation, merged);
  }
  CHECK(merging.num_merged() == 0);
  merging.begin_round(known, {});
  CHECK(options_of(merging.model()) == merged);
  CHECK(merged.size() < model.choices.choices().size());
  const RatedAllocation best = run_one(merging, known);
  CHECK(merging.num_merged() == 1);
  check_by_verifier(model, best);
  std::set<Option> with_best = merged;
  add_options(model, best.allocation, with_best);
  CHECK(with_best == merged);
  // The next one has all choices again.
  merging.begin_round(known, {});
  CHECK(&merging.model() == &model.choices);
}

TEST_CASE("merging search: it has its part of the work, and nothing before or in large models") {
  const Model model(forty_tables(60));
  BestParameters parameters = short_searches();
  MergingSearch merging(model.context, 7, parameters);
  CHECK_FALSE(merging.is_due(parameters.merging.begin_work - 1));
  CHECK(merging.is_due(parameters.merging.begin_work));
  merging.begin_round(first_plan(model), {});
  PlanCopies copies;
  merging.take_in(nullptr, 100'000, 150'000, copies);
  CHECK_FALSE(merging.is_due(parameters.merging.begin_work + 299'999));
  CHECK(merging.is_due(parameters.merging.begin_work + 300'000));
  parameters.merging.most_tables = model.choices.num_tables() - 1;
  CHECK_FALSE(MergingSearch(model.context, 7, parameters).is_due(parameters.merging.begin_work));
}

TEST_CASE("merging search: threads and processes change nothing") {
  const Model model(forty_tables(60));
  const BestParameters parameters = short_searches();
  InlineExecutor alone;
  const Answer answer = search(model, parameters, alone);
  BestParameters without = parameters;
  without.merging.most_tables = 0;
  CHECK(search(model, without, alone).steps.size() != answer.steps.size());
  ShufflingExecutor shuffling(4, 11);
  check_equal(search(model, parameters, shuffling), answer);
  const auto answers = run_processes(3, [&](ThreadExchange& exchange) {
    InlineExecutor own;
    return search(model, parameters, own, &exchange);
  });
  for (const Answer& own : answers)
    check_equal(own, answer);
}

}  // namespace shardwright::merging_search_test
