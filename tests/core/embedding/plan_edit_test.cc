// Edits of a plan: what the published plan shares with the old one, and what PlanCopies counts.
#include "core/embedding/plan.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::plan_edit_test {

namespace {

using namespace shardwright::embedding;
using shardwright::test_support::OptionStore;

constexpr std::size_t kTables = 100;

// Tables are column-wise in two on ranks 0 and 1. Only the last one is row-wise over four ranks.
struct Fixture {
  Fixture() {
    for (std::size_t i = 0; i < kTables; ++i) {
      const bool last = i == kTables - 1;
      options.push_back(&store->add_even(
          TableId(i), last ? ShardingType::kRowWise : ShardingType::kColumnWise, last ? 4 : 2));
      for (std::uint32_t shard = 0; shard < options.back()->num_shards(); ++shard)
        ranks.push_back(shard);
    }
    plan = Plan::make(store, options, ranks);
  }

  std::shared_ptr<OptionStore> store = std::make_shared<OptionStore>();
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  Plan plan;
};

}  // namespace

TEST_CASE("plan edit: changes what was set and shares everything else") {
  Fixture f;
  const ShardingOption& other = f.store->add_even(TableId(70), ShardingType::kTableWise, 1);
  const std::vector<Rank> swapped{1, 0};
  const std::vector<Rank> third{3};
  PlanCopies copies;
  PlanEdit edit(f.plan);
  edit.set_if_different(70, other, third);
  edit.set_if_different(5, *f.options[5], swapped);
  const Plan published = edit.publish(copies);
  for (std::size_t i = 0; i < kTables; ++i) {
    CAPTURE(i);
    const bool changed = i == 5 || i == 70;
    CHECK((published[i].option == f.plan[i].option) == (i != 70));
    if (i + 1 < kTables)
      CHECK((published.ranks_identity(i) == f.plan.ranks_identity(i)) == !changed);
    CHECK((published.node_identity(i) == f.plan.node_identity(i)) ==
          (i / 8 != 5 / 8 && i / 8 != 70 / 8));
  }
  CHECK(published[5].rank(0) == 1);
  CHECK(published[70].rank(0) == 3);
  CHECK(f.plan[5].rank(0) == 0);
  CHECK(f.plan[70].option == f.options[70]);
  CHECK(published.owner() == f.plan.owner());
  // The edit copies leaves 0 and 8, inner nodes 0 and 1 above them, and the root.
  CHECK(copies == PlanCopies{1, kTables - 2, 2, 3 * sizeof(Rank), 5, 0});
  CHECK(edit.empty());
}

TEST_CASE("plan edit: assignments that do not change are not copied") {
  const Fixture f;
  PlanCopies copies;
  PlanEdit edit(f.plan);
  for (std::size_t i = 0; i < kTables; ++i) {
    std::vector<Rank> same;
    for (std::uint32_t shard = 0; shard < f.options[i]->num_shards(); ++shard)
      same.push_back(shard);
    edit.set_if_different(i, *f.options[i], same);
  }
  // No ranks: shard i is on rank i.
  edit.set_if_different(kTables - 1, *f.options[kTables - 1], {});
  CHECK(edit.empty());
  const Plan published = edit.publish(copies);
  CHECK(published.node_identity(0) == f.plan.node_identity(0));
  CHECK(copies == PlanCopies{1, kTables, 0, 0, 0, 0});
}

TEST_CASE("plan edit: an assignment taken from another plan shares that plan's ranks") {
  const Fixture f;
  const Plan moved = f.plan.with_ranks(9, std::vector<Rank>{3, 2});
  PlanCopies copies;
  PlanEdit edit(f.plan);
  edit.set(9, moved[9]);
  const Plan published = edit.publish(copies);
  CHECK(published.ranks_identity(9) == moved.ranks_identity(9));
  CHECK(copies.assignments_copied == 1);
  CHECK(copies.rank_bytes_copied == 0);
}

TEST_CASE("plan edit: several plans may be published one after the other from one base") {
  const Fixture f;
  PlanCopies copies;
  PlanEdit edit(f.plan);
  edit.set_if_different(1, *f.options[1], std::vector<Rank>{2, 2});
  const Plan first = edit.publish(copies);
  edit.set_if_different(2, *f.options[2], std::vector<Rank>{3, 3});
  const Plan second = edit.publish(copies);
  CHECK(first[1].rank(0) == 2);
  CHECK(second[1].rank(0) == 0);
  CHECK(second[2].rank(0) == 3);
  CHECK(copies == PlanCopies{2, 2 * kTables - 2, 2, 4 * sizeof(Rank), 6, 0});
}

TEST_CASE("plan edit: a plan without a base counts as copied") {
  const Fixture f;
  PlanCopies copies;
  PlanEdit::count_whole(f.plan, copies);
  // The edit copies 13 leaves, 2 inner nodes and the root. The row-wise table stores no ranks.
  CHECK(copies == PlanCopies{1, 0, kTables, (kTables - 1) * 2 * sizeof(Rank), 16, 0});
}

TEST_CASE("plan edit: another owner keeps the options alive and shares the whole tree") {
  const Fixture f;
  const auto owner = std::make_shared<int>(1);
  const Plan other = f.plan.with_owner(owner);
  CHECK(other.owner() == owner);
  CHECK(f.plan.owner() == f.store);
  for (std::size_t i = 0; i < kTables; i += 8)
    CHECK(other.node_identity(i) == f.plan.node_identity(i));
}

}  // namespace shardwright::plan_edit_test
