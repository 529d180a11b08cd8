// Plans: the contents after a change, and the storage that the two plans share.
#include "core/embedding/plan.h"

#include <doctest/doctest.h>

#include <memory>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::plan_test {

namespace {

using namespace shardwright::embedding;
using shardwright::test_support::OptionStore;

std::vector<Rank> ranks_of(const Plan& plan, std::size_t i) {
  std::vector<Rank> ranks;
  for (std::uint32_t s = 0; s < plan[i].option->num_shards(); ++s)
    ranks.push_back(plan[i].rank(s));
  return ranks;
}

// t0 table-wise, t1 column-wise in 2, t2 row-wise over 4, t3 data-parallel over 4.
struct Fixture {
  std::shared_ptr<OptionStore> store = std::make_shared<OptionStore>();
  std::vector<const ShardingOption*> options{
      &store->add_even(TableId(0), ShardingType::kTableWise, 1),
      &store->add_even(TableId(1), ShardingType::kColumnWise, 2),
      &store->add_even(TableId(2), ShardingType::kRowWise, 4),
      &store->add_even(TableId(3), ShardingType::kDataParallel, 4)};
  std::vector<Rank> ranks{3, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3};
  Plan plan = Plan::make(store, options, ranks);
};

}  // namespace

TEST_CASE("plan: the empty plan has no options") {
  CHECK(Plan().empty());
  CHECK(Plan().size() == 0);
  CHECK(Plan::make(nullptr, {}, {}).empty());
}

TEST_CASE("plan: gives every option its ranks in order") {
  const Fixture f;
  REQUIRE(f.plan.size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(f.plan[i].option == f.options[i]);
  CHECK(ranks_of(f.plan, 0) == std::vector<Rank>{3});
  CHECK(ranks_of(f.plan, 1) == std::vector<Rank>{1, 2});
  CHECK(ranks_of(f.plan, 2) == std::vector<Rank>{0, 1, 2, 3});
  CHECK(ranks_of(f.plan, 3) == std::vector<Rank>{0, 1, 2, 3});
}

TEST_CASE("plan: uniform options in rank order store no ranks, others do") {
  const Fixture f;
  CHECK(f.plan.ranks_identity(0) != nullptr);
  CHECK(f.plan.ranks_identity(1) != nullptr);
  CHECK(f.plan.ranks_identity(2) == nullptr);
  CHECK(f.plan.ranks_identity(3) == nullptr);
}

TEST_CASE("plan: a uniform option that is not in rank order is kept as given") {
  const Fixture f;
  const std::vector<Rank> swapped{1, 0, 2, 3};
  const Plan odd = f.plan.with_ranks(2, swapped);
  CHECK(ranks_of(odd, 2) == swapped);
  CHECK(odd.ranks_identity(2) != nullptr);
  CHECK(odd.with_ranks(2, std::vector<Rank>{0, 1, 2, 3}).ranks_identity(2) == nullptr);
}

TEST_CASE("plan: without ranks, only the options are set") {
  const Fixture f;
  const Plan plan = Plan::make(f.store, f.options);
  REQUIRE(plan.size() == 4);
  CHECK(plan[1].option == f.options[1]);
  CHECK(plan[1].ranks.size() == 0);
}

TEST_CASE("plan: moving a shard leaves the parent unchanged") {
  const Fixture f;
  const Plan moved = f.plan.with_ranks(1, std::vector<Rank>{1, 3});
  CHECK(ranks_of(moved, 1) == std::vector<Rank>{1, 3});
  CHECK(ranks_of(f.plan, 1) == std::vector<Rank>{1, 2});
  CHECK(ranks_of(moved, 0) == ranks_of(f.plan, 0));
  CHECK(moved[1].option == f.plan[1].option);
}

TEST_CASE("plan: setting another option of a table replaces the first") {
  Fixture f;
  const ShardingOption& other = f.store->add_even(TableId(1), ShardingType::kColumnWise, 4);
  const Plan changed = f.plan.with_option(1, other, std::vector<Rank>{0, 1, 0, 1});
  CHECK(changed[1].option == &other);
  CHECK(ranks_of(changed, 1) == std::vector<Rank>{0, 1, 0, 1});
  CHECK(f.plan[1].option == f.options[1]);
  CHECK(changed.ranks_identity(0) == f.plan.ranks_identity(0));
}

TEST_CASE("plan: a change keeps the ranks of every other option and the nodes beside its path") {
  OptionStore store;
  std::vector<const ShardingOption*> options;
  std::vector<Rank> ranks;
  for (std::size_t i = 0; i < 100; ++i) {
    options.push_back(&store.add_even(TableId(i), ShardingType::kTableWise, 1));
    ranks.push_back(static_cast<Rank>(i % 4));
  }
  const Plan before = Plan::make(nullptr, options, ranks);
  const Plan after = before.with_ranks(42, std::vector<Rank>{0});
  for (std::size_t i = 0; i < 100; ++i) {
    CAPTURE(i);
    CHECK((after.ranks_identity(i) == before.ranks_identity(i)) == (i != 42));
    CHECK((after.node_identity(i) == before.node_identity(i)) == (i / 8 != 42 / 8));
  }
}

TEST_CASE("plan: keeps the owner of its options alive, and no longer") {
  std::weak_ptr<OptionStore> watch;
  Plan last;
  {
    Fixture f;
    watch = f.store;
    last = f.plan.with_ranks(0, std::vector<Rank>{2});
  }
  REQUIRE_FALSE(watch.expired());
  CHECK(last.owner() != nullptr);
  CHECK(last[0].option->num_shards() == 1);
  last = Plan();
  CHECK(watch.expired());
}

TEST_CASE("plan: a moved-from plan is empty") {
  Fixture f;
  const Plan taken = std::move(f.plan);
  CHECK(taken.size() == 4);
  CHECK(f.plan.empty());  // NOLINT(bugprone-use-after-move): the type promises it
}

}  // namespace shardwright::plan_test
