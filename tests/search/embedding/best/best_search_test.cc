// The plans of best mode's search: what they share, and which offered plans it accepts.
#include "search/embedding/best/portfolio_search.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/evaluate.h"
#include "search/explore.h"
#include "tests/support/embedding/small_models.h"

namespace shardwright::best_search_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// Returns every better plan that the search finds in `work` units of work.
std::vector<Plan> better_plans(PortfolioSearch& search, std::uint64_t work) {
  std::vector<Plan> plans;
  InlineExecutor executor;
  Budget budget(work, {});
  explore(search, executor, budget, [&](const PortfolioSearch& at) {
    if (!at.best()) return;
    if (plans.empty() || plans.back().node_identity(0) != at.best()->plan.node_identity(0) ||
        at.copies().plans > plans.size()) {
      plans.push_back(at.best()->plan);
    }
  });
  return plans;
}

bool same_content(const Assignment& a, const Assignment& b) {
  if (a.option != b.option) return false;
  for (std::uint32_t shard = 0; shard < a.option->num_shards(); ++shard) {
    if (a.rank(shard) != b.rank(shard)) return false;
  }
  return true;
}

// Checks that the plans share all assignments that are equal in both. Returns the number of
// assignments that differ.
std::size_t check_sharing(const Plan& before, const Plan& after) {
  REQUIRE(before.size() == after.size());
  std::size_t different = 0;
  for (std::size_t table = 0; table < before.size(); ++table) {
    CAPTURE(table);
    const bool same = same_content(before[table], after[table]);
    if (same) CHECK(before.ranks_identity(table) == after.ranks_identity(table));
    if (!same) ++different;
  }
  return different;
}

// Places all tables on rank 0, where they do not fit.
Plan crowded_plan(const Model& model) {
  Allocation crowded;
  for (std::size_t table = 0; table < model.choices.num_tables(); ++table) {
    const std::span<const Choice> choices = model.choices.choices(table);
    std::uint32_t single = 0;
    while (choices[single].reach != Reach::kDevice || choices[single].storage.hbm < Bytes(10))
      ++single;
    crowded.choice.push_back(model.choices.first_choice(table) + single);
    crowded.ranks.push_back({0});
  }
  PlanCopies copies;
  return to_plan(model.choices, crowded, copies);
}

}  // namespace

TEST_CASE("best search: every better plan is an edit of the one before") {
  const Model model(forty_tables(60));
  PortfolioSearch search(model.choices, 1, true);
  const std::vector<Plan> plans = better_plans(search, 4'000'000);
  REQUIRE(plans.size() >= 3);
  std::size_t copied = model.choices.num_tables();  // the first plan copies all
  for (std::size_t i = 1; i < plans.size(); ++i) {
    INFO("plan ", i);
    copied += check_sharing(plans[i - 1], plans[i]);
  }
  CHECK(search.copies().plans == plans.size());
  CHECK(search.copies().assignments_copied == copied);
  CHECK(search.copies().assignments_shared == plans.size() * model.choices.num_tables() - copied);
  CHECK(search.copies().assignments_shared > 0);
}

TEST_CASE("best search: the answer shares everything unchanged with its start") {
  const Model model(forty_tables(60));
  PortfolioSearch first(model.choices, 1, false);
  const Plan start = better_plans(first, 1'000'000).back();
  PortfolioSearch search(model.choices, 2, false);
  search.offer(start);
  const std::vector<Plan> plans = better_plans(search, 300'000);
  REQUIRE(plans.size() >= 1);
  CHECK(check_sharing(start, plans.front()) < model.choices.num_tables());
  CHECK(search.best()->rating <= first.best()->rating);
  CHECK(search.best()->plan.owner() == model.pool.owner());
}

TEST_CASE("best search: a start that does not fit is not accepted") {
  const Model model(forty_tables(60));
  const Plan crowded = crowded_plan(model);
  const Problem& problem = model.space->problem();
  REQUIRE_FALSE(evaluate(problem, problem.topology(), crowded).valid());
  PortfolioSearch search(model.choices, 1, false);
  search.offer(crowded);
  CHECK(search.copies().plans == 0);
  better_plans(search, 500'000);
  REQUIRE(search.best().has_value());
  const Evaluation found = evaluate(problem, problem.topology(), search.best()->plan);
  CHECK(std::none_of(found.violations.begin(), found.violations.end(),
                     [](const Violation& v) { return v.kind == Violation::Kind::kOutOfMemory; }));
}

TEST_CASE("best search: without a proof it goes on, however long ago the last better plan was") {
  const Model model(forty_tables(60));
  BestParameters parameters;
  parameters.lanes.calm_work = 0;
  parameters.lanes.stuck_work = 0;
  parameters.lanes.recent_parts = 1'000'000;
  PortfolioSearch search(model.choices, 1, false, parameters);
  CHECK(better_plans(search, 3'000'000).size() >= 1);
  CHECK(search.bound() == 0);
}

TEST_CASE("best search: the last round is as long as the work that is left") {
  const Model model(forty_tables(1000));
  // Rounds of 0.24, 0.48, … million steps would end at 3.6 and then at 7.4 million steps.
  constexpr std::uint64_t kLimit = 4'000'000;
  PortfolioSearch search(model.choices, 1, false);
  InlineExecutor executor;
  Budget budget(kLimit, {});
  CHECK(explore(search, executor, budget) == StopReason::kWorkLimit);
  CHECK(budget.work_done() >= kLimit);
  CHECK(budget.work_done() < kLimit / 10 * 11);
}

TEST_CASE("best search: a start with another model's tables is ignored") {
  const Model model(forty_tables(60));
  const Model other(forty_tables(80));
  PortfolioSearch theirs(other.choices, 1, false);
  const Plan foreign = better_plans(theirs, 300'000).back();
  PortfolioSearch search(model.choices, 1, false);
  search.offer(foreign);
  search.offer(Plan());
  CHECK(search.copies().plans == 0);
}

}  // namespace shardwright::best_search_test
