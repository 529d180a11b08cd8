// The search allocates hardly more for more proposals.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <memory>

#include "search/embedding/compat/embedding_search.h"
#include "search/explore.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::allocation_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

constexpr std::size_t kTables = 100;
constexpr std::size_t kOptions = 200;  // options per table: 19,901 greedy proposals

// The first table alone decides the rating. So no proposal is better than the first one, and the
// search makes only one plan.
std::shared_ptr<const SearchSpace> long_search(PartitionerSpec::Type partitioner, bool feasible) {
  ProblemSpec spec = problem_spec(kTables + 1, 8, 4);
  spec.topology.hbm_cap_bytes = feasible ? std::int64_t{1} << 40 : 50;
  spec.proposers = {ProposerSpec{}};
  spec.partitioner.type = partitioner;
  SpaceBuilder builder(spec);
  builder.add(0, kTableWise, 1, 1e9, 1);
  for (std::size_t table = 1; table <= kTables; ++table) {
    for (std::size_t i = 0; i < kOptions; ++i) {
      const auto ms = static_cast<double>(i + 1);
      const auto hbm = static_cast<std::int64_t>(1000 - i + table);
      const ShardingType types[] = {kTableWise, kColumnWise, kRowWise, kTableRowWise,
                                    kTableColumnWise};
      const std::uint32_t shards[] = {1, 3, 8, 4, 2};
      builder.add(table, types[i % 5], shards[i % 5], ms, hbm);
    }
  }
  return builder.take();
}

struct Cost {
  std::uint64_t allocations = 0;
  std::uint64_t proposals = 0;
};

// Returns the allocations and proposals of a search with this work limit.
Cost explore_until(const std::shared_ptr<const SearchSpace>& space, std::uint64_t work_limit) {
  OptionPool pool(space);
  EmbeddingSearch search(pool, space->problem().topology(), 1, false);
  InlineExecutor executor;
  Budget budget(work_limit, {});
  const AllocationScope scope;
  explore(search, executor, budget);
  return {scope.allocations(), search.num_proposals()};
}

void check_growth(const std::shared_ptr<const SearchSpace>& space) {
  const Cost half = explore_until(space, 2'000'000);
  const Cost whole = explore_until(space, 4'000'000);
  REQUIRE(half.proposals > 3000);
  REQUIRE(whole.proposals > half.proposals * 3 / 2);
  // Only the hash table of known proposals grows. It doubles once or twice.
  CHECK(whole.allocations <= half.allocations + 4);
  // The plan of the first proposal has a list of ranks for every table.
  CHECK(half.allocations < 200 + kTables);
}

}  // namespace

TEST_CASE("allocation: twice as many proposals take only a few more allocations") {
  check_growth(long_search(PartitionerSpec::Type::kGreedy, true));
}

TEST_CASE("allocation: twice as many failing proposals take only a few more allocations") {
  check_growth(long_search(PartitionerSpec::Type::kGreedy, false));
}

TEST_CASE("allocation: the same holds for the memory-balanced partitioner") {
  check_growth(long_search(PartitionerSpec::Type::kMemoryBalanced, true));
}

TEST_CASE("allocation: after the first batch of each slot, evaluation allocates nothing") {
  const auto space = long_search(PartitionerSpec::Type::kGreedy, true);
  OptionPool pool(space);
  EmbeddingSearch search(pool, space->problem().topology(), 1, false);
  Budget budget;
  std::size_t evaluated = 0;
  for (std::size_t batch = 0; batch < 3 * search.batches_in_flight(); ++batch) {
    const std::size_t slot = batch % search.batches_in_flight();
    const std::size_t size = search.propose(slot, budget);
    REQUIRE(size > 0);
    const AllocationScope scope;
    search.evaluate(slot, 0, 0, size, budget);
    if (batch >= search.batches_in_flight()) {
      evaluated += size;
      CHECK(scope.allocations() == 0);
    }
    search.synchronize(slot, budget);
  }
  CHECK(evaluated > 2000);
}

}  // namespace shardwright::allocation_test
