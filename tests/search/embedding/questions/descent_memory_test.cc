// A descent makes no more steps than its limit of updates allows, however many shards a table has.
#include "search/embedding/questions/replan/blend/plan_descent.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "search/budget.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/questions/plan_of_entries.h"
#include "search/embedding/questions/replan/old/old_plan.h"
#include "search/executor.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::descent_memory_test {

namespace {

using namespace shardwright;
using embedding::BlendIncumbent;
using embedding::OldPlan;
using embedding::Plan;
using embedding::PlanCosts;
using embedding::Problem;

constexpr std::int64_t kShards = 1'000;
constexpr std::int64_t kRanks = 2;

PlanEntry column_wise(std::size_t table, std::int64_t first_rank) {
  PlanEntry entry;
  entry.table = "t" + std::to_string(table);
  entry.sharding_type = embedding::ShardingType::kColumnWise;
  for (std::int64_t shard = 0; shard < kShards; ++shard)
    entry.ranks.push_back((first_rank + shard) % kRanks);
  return entry;
}

}  // namespace

TEST_CASE("plan descent: exchanges of many shards count before they are made") {
  embedding::ProblemSpec spec = test_support::problem_spec(2, kRanks, kRanks, 1'000, 64 * kShards);
  for (embedding::Table& table : spec.tables)
    table.constraints.emplace().min_partition = 64;
  const auto problem = std::make_shared<const Problem>(Problem::make(std::move(spec)).value());
  InlineExecutor executor;
  const auto space = embedding::enumerate(problem, executor).value();
  const std::vector<PlanEntry> entries = {column_wise(0, 0), column_wise(1, 1)};
  const OldPlan old = OldPlan::make(space, entries).value();
  const embedding::Topology available = embedding::reserve(*problem)->topology;
  const Plan plan = embedding::plan_of_entries(space, entries).value();
  const PlanCosts costs(*problem, available, old, 0.001);
  BlendIncumbent incumbent(costs);
  Budget budget;
  // Trying all exchanges of 500 with 500 shards takes over a million.
  const test_support::AllocationScope scope;
  embedding::descend(plan, plan, 1, incumbent, budget);
  const std::uint64_t allocations = scope.allocations();
  CHECK(allocations > 1'000);
  CHECK(allocations < 100'000);
}

}  // namespace shardwright::descent_memory_test
