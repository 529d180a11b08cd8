// Renumbering the ranks of a plan so that the fewest bytes move from the old plan.
#include "search/embedding/questions/move_costs.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "search/budget.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/model/option_pool.h"
#include "search/embedding/questions/old_plan.h"
#include "search/embedding/questions/plan_of_entries.h"
#include "search/executor.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/random.h"

namespace shardwright::rank_labels_test {

namespace {

using namespace shardwright;
using embedding::Allocation;
using embedding::ChoiceModel;
using embedding::MoveCosts;
using embedding::OldPlan;
using embedding::OptionPool;
using embedding::Plan;
using embedding::Problem;
using embedding::Rank;
using embedding::relabel_ranks;
using embedding::SearchSpace;
using embedding::ShardingType;

constexpr std::size_t kTables = 14;
constexpr std::uint32_t kRanks = 8;
constexpr std::uint32_t kLocal = 4;
constexpr double kWeight = 10;  // ms per GiB

// Exchanges the two hosts and the ranks within each: old rank i becomes kExchanged[i].
constexpr Rank kExchanged[kRanks] = {7, 6, 5, 4, 1, 0, 3, 2};

PlanEntry entry_of(std::size_t table, ShardingType type, std::vector<std::int64_t> ranks) {
  PlanEntry entry;
  entry.table = "t" + std::to_string(table);
  entry.sharding_type = type;
  entry.ranks = std::move(ranks);
  return entry;
}

// Table t is on rank t modulo 8. The last two tables fill a host each.
std::vector<PlanEntry> old_entries() {
  std::vector<PlanEntry> entries;
  for (std::size_t table = 0; table + 2 < kTables; ++table)
    entries.push_back(
        entry_of(table, ShardingType::kTableWise, {static_cast<std::int64_t>(table % kRanks)}));
  entries.push_back(entry_of(kTables - 2, ShardingType::kTableRowWise, {0, 1, 2, 3}));
  entries.push_back(entry_of(kTables - 1, ShardingType::kTableRowWise, {4, 5, 6, 7}));
  return entries;
}

struct InUse {
  std::shared_ptr<const Problem> problem = std::make_shared<const Problem>(
      Problem::make(test_support::problem_spec(kTables, kRanks, kLocal, 4'000, 64)).value());
  InlineExecutor executor;
  std::shared_ptr<const SearchSpace> space = embedding::enumerate(problem, executor).value();
  OptionPool pool{space};
  ChoiceModel model =
      ChoiceModel::with_all_cuts(pool, embedding::reserve(*problem)->topology, Budget());
  OldPlan old = OldPlan::make(space, old_entries()).value();
  MoveCosts costs{model, old.held(kWeight)};
  Allocation allocation =
      *to_allocation(model, embedding::plan_of_entries(space, old_entries()).value());

  double cost(const Allocation& of) const {
    double sum = 0;
    for (std::size_t table = 0; table < of.choice.size(); ++table)
      sum += costs.cost(of.choice[table], of.ranks[table]);
    return sum;
  }
};

}  // namespace

TEST_CASE("rank labels: a plan whose ranks were exchanged gets its old ranks back") {
  InUse in_use;
  REQUIRE(in_use.model.status().ok());
  Allocation exchanged = in_use.allocation;
  for (std::size_t table = 0; table < kTables; ++table) {
    std::vector<Rank>& ranks = exchanged.ranks[table];
    // A block on a whole host keeps its rank order.
    for (std::size_t i = 0; i < ranks.size(); ++i)
      ranks[i] = ranks.size() == 1 ? kExchanged[ranks[i]] : (ranks[i] + kLocal) % kRanks;
  }
  CHECK(in_use.cost(in_use.allocation) == 0);
  REQUIRE(in_use.cost(exchanged) > 0);
  const Allocation found = relabel_ranks(in_use.model, in_use.costs, exchanged);
  CHECK(found.ranks == in_use.allocation.ranks);
  CHECK(found.choice == in_use.allocation.choice);
}

TEST_CASE("rank labels: moves never cost more, and shards that share a rank still do") {
  const InUse in_use;
  test_support::Random random(11);
  for (int round = 0; round < 50; ++round) {
    Allocation shuffled = in_use.allocation;
    for (std::vector<Rank>& ranks : shuffled.ranks) {
      if (ranks.size() == 1) ranks[0] = static_cast<Rank>(random.below(kRanks));
    }
    const Allocation found = relabel_ranks(in_use.model, in_use.costs, shuffled);
    CHECK(in_use.cost(found) <= in_use.cost(shuffled));
    for (std::size_t a = 0; a < kTables; ++a) {
      for (std::size_t b = 0; b < a; ++b) {
        if (shuffled.ranks[a].size() != 1 || shuffled.ranks[b].size() != 1) continue;
        CHECK((found.ranks[a] == found.ranks[b]) == (shuffled.ranks[a] == shuffled.ranks[b]));
        CHECK((found.ranks[a][0] / kLocal == found.ranks[b][0] / kLocal) ==
              (shuffled.ranks[a][0] / kLocal == shuffled.ranks[b][0] / kLocal));
      }
    }
  }
}

}  // namespace shardwright::rank_labels_test
