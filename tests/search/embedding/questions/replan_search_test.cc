#include "search/embedding/questions/replan_search.h"

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "search/budget.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/questions/plan_of_entries.h"
#include "search/executor.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::replan_search_test {

namespace {

using namespace shardwright;
using embedding::is_same;
using embedding::OldPlan;
using embedding::Plan;
using embedding::plan_of_entries;
using embedding::Problem;
using embedding::Rank;
using embedding::ReplanGoal;
using embedding::ReplanSearch;
using embedding::SearchSpace;

constexpr std::size_t kTables = 80;
constexpr std::int64_t kRanks = 4;
constexpr std::uint64_t kWork = 2'000'000;

PlanEntry on_rank(std::size_t table, std::int64_t rank) {
  PlanEntry entry;
  entry.table = "t" + std::to_string(table);
  entry.sharding_type = embedding::ShardingType::kTableWise;
  entry.ranks = {rank};
  return entry;
}

// An old plan that has ten more tables on rank 0 than an even plan has.
struct InUse {
  std::shared_ptr<const Problem> problem;
  std::shared_ptr<const SearchSpace> space;
  std::vector<PlanEntry> entries;

  InUse() {
    problem = std::make_shared<const Problem>(
        Problem::make(test_support::problem_spec(kTables, kRanks, kRanks, 400'000, 64)).value());
    InlineExecutor executor;
    space = embedding::enumerate(problem, executor).value();
    for (std::size_t i = 0; i < kTables; ++i)
      entries.push_back(on_rank(i, i < 10 ? 0 : static_cast<std::int64_t>(i) % kRanks));
  }

  std::unique_ptr<ReplanSearch> search(double weight) const {
    return std::make_unique<ReplanSearch>(problem, space, embedding::reserve(*problem)->topology,
                                          OldPlan::make(space, entries).value(),
                                          ReplanGoal{weight, std::nullopt, 1e-4, 0});
  }

  // A plan that ignores the old plan: tables are on the ranks in turn.
  Plan evenly() const {
    std::vector<PlanEntry> even;
    for (std::size_t i = 0; i < kTables; ++i)
      even.push_back(on_rank(i, static_cast<std::int64_t>(kTables - i) % kRanks));
    return plan_of_entries(space, even).value();
  }
};

struct Sharing {
  std::size_t changed = 0;       // assignments
  std::size_t nodes_copied = 0;  // leaves of the plan's tree
};

// Checks that the plans share all assignments that are equal in both.
Sharing check_sharing(const Plan& from, const Plan& to) {
  REQUIRE(from.size() == to.size());
  Sharing sharing;
  for (std::size_t i = 0; i < from.size(); ++i) {
    if (!is_same(from[i], to[i])) {
      ++sharing.changed;
      continue;
    }
    REQUIRE(from[i].ranks.size() == 1);
    CHECK(from.ranks_identity(i) == to.ranks_identity(i));
  }
  for (std::size_t i = 0; i < from.size(); i += 8)
    sharing.nodes_copied += from.node_identity(i) == to.node_identity(i) ? 0U : 1U;
  CHECK(sharing.nodes_copied <= sharing.changed);
  return sharing;
}

}  // namespace

TEST_CASE("replan search: the answer shares everything unchanged with the old plan") {
  const InUse in_use;
  for (const double weight : {0.0, 0.001, 0.01}) {
    CAPTURE(weight);
    const auto search = in_use.search(weight);
    REQUIRE(search->kept() != nullptr);
    CHECK(search->can_start());
    Budget budget(kWork, std::nullopt);
    const ReplanSearch::Best* const best = search->finish(in_use.evenly(), 0, budget);
    REQUIRE(best != nullptr);
    const Sharing sharing = check_sharing(*search->kept(), best->plan);
    CHECK(sharing.changed > 0);
    CHECK(sharing.changed < kTables / 2);
    CHECK(best->evaluation.valid());
    const Migration migration = search->migration(best->plan);
    CHECK(migration.moves.size() == sharing.changed);
    CHECK(best->evaluation.rating < *migration.rating_before);
  }
}

TEST_CASE("replan search: a plan found during the search becomes an edit of the old plan") {
  const InUse in_use;
  const auto search = in_use.search(1e-9);
  const Plan found = in_use.evenly();
  Plan better = search->kept()->with_ranks(0, std::vector<Rank>{1});
  // Makes an equal plan that shares no storage.
  better = Plan::generate(better.owner(), better.size(), [&](std::size_t i) {
    return embedding::Assignment{better[i].option, SharedArray<Rank>(better[i].ranks.view())};
  });
  search->consider(better);
  Budget budget(kWork, std::nullopt);
  const ReplanSearch::Best* const best = search->finish(std::nullopt, 0, budget);
  REQUIRE(best != nullptr);
  check_sharing(*search->kept(), best->plan);
}

TEST_CASE("replan search: nothing moves if moving gains too little") {
  const InUse in_use;
  const auto search = in_use.search(1e6);
  Budget budget(kWork, std::nullopt);
  const ReplanSearch::Best* const best = search->finish(in_use.evenly(), 0, budget);
  REQUIRE(best != nullptr);
  CHECK(best->moved_bytes == 0);
  CHECK(check_sharing(*search->kept(), best->plan).changed == 0);
  CHECK(search->migration(best->plan).moves.empty());
}

}  // namespace shardwright::replan_search_test
