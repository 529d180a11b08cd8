// Memory of values: copies allocate nothing, and changes allocate a bounded number of bytes.
#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/cow.h"
#include "core/embedding/plan.h"
#include "core/embedding/sharding_option.h"
#include "tests/support/allocation_counter.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::sharing_test {

namespace {

using namespace shardwright::embedding;
using shardwright::PersistentVector;
using shardwright::SharedArray;
using shardwright::test_support::AllocationScope;
using shardwright::test_support::keep;
using shardwright::test_support::OptionStore;

// The tables of the largest model in published traces.
constexpr std::size_t kTables = 5384;
// ceil(5384 / 8) leaves, then one eighth as many inner nodes on each level, up to the root.
constexpr std::uint64_t kNodes = 673 + 85 + 11 + 2 + 1;
constexpr std::uint64_t kLevels = 5;

struct LargePlan {
  explicit LargePlan(ShardingType type, std::uint32_t shards, std::size_t tables = kTables) {
    options.reserve(tables);
    for (std::size_t i = 0; i < tables; ++i) {
      options.push_back(&store->add_even(TableId(i), type, shards));
      for (std::uint32_t s = 0; s < shards; ++s)
        ranks.push_back(s);
    }
  }
  Plan make() const { return Plan::make(store, options, ranks); }

  std::shared_ptr<OptionStore> store = std::make_shared<OptionStore>();
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
};

}  // namespace

TEST_CASE("allocation counter: counts allocations and releases") {
  const AllocationScope scope;
  void* const block = ::operator new(1000);
  const std::uint64_t allocations = scope.allocations();
  const std::int64_t live_bytes = scope.live_bytes();
  ::operator delete(block);
  const std::int64_t live_bytes_after = scope.live_bytes();
  const std::uint64_t bytes = scope.bytes();
  CHECK(allocations == 1);
  CHECK(live_bytes == 1000);
  CHECK(live_bytes_after == 0);
  CHECK(bytes == 1000);
}

TEST_CASE("shared array: allocates its elements and a header of 8 bytes, copies nothing") {
  const std::vector<std::uint32_t> source(100, 7);
  const AllocationScope scope;
  const SharedArray<std::uint32_t> array{std::span<const std::uint32_t>(source)};
  CHECK(scope.allocations() == 1);
  CHECK(scope.bytes() == 408);
  const SharedArray<std::uint32_t> copy(array);
  keep(copy);
  const SharedArray<std::uint32_t> none{std::span<const std::uint32_t>()};
  keep(none);
  CHECK(scope.allocations() == 1);
}

TEST_CASE(
    "persistent vector: set allocates one node per level; reading and copying allocate nothing") {
  const auto vector = PersistentVector<int>::generate(4096, [](std::size_t) { return 0; });
  const AllocationScope scope;
  const PersistentVector<int> copy(vector);
  CHECK(copy[4095] == 0);
  CHECK(scope.allocations() == 0);
  const auto changed = vector.set(100, 1);
  keep(changed);
  CHECK(scope.allocations() == 4);  // 4 levels, since 8^4 = 4096
}

TEST_CASE("persistent vector: set_all allocates each node above a change once, and counts it") {
  for (const std::size_t size : {std::size_t{5}, std::size_t{100}, std::size_t{4096}, kTables}) {
    CAPTURE(size);
    const AllocationScope whole;
    const auto vector = PersistentVector<int>::generate(size, [](std::size_t) { return 0; });
    CHECK(whole.allocations() == vector.num_nodes());
    for (const std::size_t step :
         {std::size_t{1}, std::size_t{5}, std::size_t{9}, std::size_t{999}}) {
      std::vector<PersistentVector<int>::Change> changes;
      for (std::size_t i = step / 2; i < size; i += step)
        changes.push_back({i, 1});
      const std::size_t counted = vector.nodes_copied(changes);
      const AllocationScope scope;
      const auto changed = vector.set_all(changes);
      keep(changed);
      CHECK(scope.allocations() == counted);
      CHECK(counted <= vector.num_nodes());
    }
  }
}

TEST_CASE("plan: copying allocates nothing") {
  const LargePlan large(ShardingType::kTableWise, 1);
  const Plan plan = large.make();
  const AllocationScope scope;
  const Plan copy(plan);
  std::optional<Plan> assigned;
  assigned = copy;
  CHECK(scope.allocations() == 0);
  CHECK(assigned->ranks_identity(7) == plan.ranks_identity(7));
}

TEST_CASE("plan: moving a table among 5,384 takes 4 bytes per rank and at most 1.5 KiB") {
  const LargePlan large(ShardingType::kColumnWise, 16);
  const Plan plan = large.make();
  const std::vector<Rank> ranks(16, 5);
  for (const std::size_t i : {std::size_t{0}, std::size_t{2500}, kTables - 1}) {
    const AllocationScope scope;
    const Plan moved = plan.with_ranks(i, ranks);
    CHECK(scope.allocations() == kLevels + 1);
    CHECK(scope.bytes() <= 4 * ranks.size() + 1536);
    CHECK(moved[i].rank(15) == 5);
  }
}

TEST_CASE(
    "plan edit: bytes grow with the number of changed tables and hardly with the number of "
    "tables") {
  for (const std::size_t changed : {std::size_t{1}, std::size_t{10}, std::size_t{100}}) {
    CAPTURE(changed);
    std::uint64_t bytes_of_few = 0;
    for (const std::size_t tables : {std::size_t{100}, std::size_t{1000}, std::size_t{6400}}) {
      CAPTURE(tables);
      const LargePlan large(ShardingType::kColumnWise, 8, tables);
      const Plan plan = large.make();
      const std::vector<Rank> moved(8, 3);
      PlanCopies copies;
      PlanEdit edit(plan);
      for (std::size_t i = 0; i < changed; ++i)
        edit.set_if_different(i * tables / changed, *large.options[i * tables / changed], moved);
      const AllocationScope scope;
      const Plan published = edit.publish(copies);
      keep(published);
      CHECK(scope.allocations() == copies.nodes_copied);
      CHECK(copies.assignments_copied == changed);
      CHECK(copies.rank_bytes_copied == changed * 8 * sizeof(Rank));
      if (bytes_of_few == 0) bytes_of_few = scope.bytes();
      // A plan with 64 times as many tables has two more levels of nodes above every change.
      const std::uint64_t two_more_levels = 2 * changed * 160;
      CHECK(scope.bytes() <= bytes_of_few + two_more_levels + (changed == 100 ? 100 * 160 : 0));
    }
  }
}

TEST_CASE("plan: moves whose plans are dropped keep no memory") {
  const LargePlan large(ShardingType::kTableWise, 1);
  Plan plan = large.make();
  const std::vector<Rank> ranks{3};
  plan = plan.with_ranks(0, ranks);
  const AllocationScope scope;
  for (int i = 0; i < 1000; ++i)
    plan = plan.with_ranks(0, ranks);
  CHECK(scope.live_bytes() == 0);
}

TEST_CASE("plan: uniform options store no ranks") {
  const LargePlan large(ShardingType::kRowWise, 8);
  const AllocationScope scope;
  const Plan plan = large.make();
  CHECK(scope.allocations() == kNodes);
  CHECK(plan[kTables - 1].rank(7) == 7);
  const std::vector<Rank> in_order{0, 1, 2, 3, 4, 5, 6, 7};
  const AllocationScope change;
  const Plan again = plan.with_ranks(9, in_order);
  CHECK(change.allocations() == kLevels);
  CHECK(again.ranks_identity(9) == nullptr);
}

TEST_CASE("plan: other options store each list of ranks once") {
  const LargePlan large(ShardingType::kColumnWise, 8);
  const AllocationScope scope;
  const Plan plan = large.make();
  keep(plan);
  CHECK(scope.allocations() == kNodes + kTables);
}

TEST_CASE("shard layout: a row-wise cut of any width is at most three runs, without allocation") {
  const AllocationScope scope;
  ShardLayout layout;
  layout.append({10, 8, 0, 0, 10, 0, 2046});
  layout.append({3, 8, 20460, 0, 0, 0, 1});
  layout.append({0, 8, 20463, 0, 0, 0, 1});
  CHECK(layout.num_shards == 2048);
  CHECK(scope.allocations() == 0);
}

TEST_CASE("interner: finding a value again allocates nothing") {
  ShardLayoutInterner layouts;
  ShardLayout layout;
  layout.append({10, 8, 0, 0, 10, 0, 4});
  const ShardLayout* const interned = layouts.intern(layout);
  const AllocationScope scope;
  CHECK(layouts.find(layout) == interned);
  CHECK(layouts.intern(layout) == interned);
  CHECK(scope.allocations() == 0);
}

}  // namespace shardwright::sharing_test
