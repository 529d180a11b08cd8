// Which options of a table a lower bound must take into account.
#include "core/embedding/bound/bound_options.h"

#include <cstdint>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::bound_options_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

// Returns a bit for every option that may have a place: table-wise; column-wise in 3; on one host
// in 2; on one whole host; on both whole hosts; on all ranks; a grid that fills no whole hosts.
// There are 4 ranks on 2 hosts.
template <class Change>
std::uint32_t with_place(const Change& change) {
  ProblemSpec spec = problem_spec(1, 4, 2);
  change(spec.tables[0].placement);
  const auto space = SpaceBuilder(std::move(spec))
                         .add(0, kTableWise, 1, 1, 1)
                         .add(0, kColumnWise, 3, 1, 1)
                         .add(0, kTableColumnWise, 2, 1, 1)
                         .add(0, kTableRowWise, 2, 1, 1)
                         .add(0, kGridShard, 4, 1, 1)
                         .add(0, kRowWise, 4, 1, 1)
                         .add(0, kGridShard, 3, 1, 1)
                         .take();
  std::uint32_t bits = 0;
  for (std::size_t i = 0; i < space->size(); ++i) {
    const ShardingOption& option = space->option(OptionId(i));
    if (may_have_place(space->problem().rules(), space->problem().topology(), option))
      bits |= 1U << i;
  }
  return bits;
}

}  // namespace

TEST_CASE("bound options: an option that has no ranks under its form and its rules is left out") {
  CHECK(with_place([](auto&) {}) == 0b0111111);
  CHECK(with_place([](auto& p) { p.max_shards = 2; }) == 0b0001101);
  CHECK(with_place([](auto& p) { p.ranks = {1, 2, 3}; }) == 0b0011111);
  CHECK(with_place([](auto& p) { p.ranks = {1, 2}; }) == 0b0000111);
  CHECK(with_place([](auto& p) { p.distinct_ranks = true; }) == 0b0111111);
  CHECK(with_place([](auto& p) {
          p.distinct_ranks = true;
          p.ranks = {1, 3};
        }) == 0b0000101);
  CHECK(with_place([](auto& p) { p.shard_ranks = {{0, {0}}, {1, {3}}}; }) == 0b0000011);
}

TEST_CASE("bound options: placement forms that coincide on a topology are recognised") {
  OptionStore store;
  const auto& grid = store.add_even(TableId(0), kGridShard, 2);
  const auto& rows = store.add_even(TableId(0), kTableRowWise, 2);
  const auto topology = [](std::int64_t world, std::int64_t local) {
    return Topology::make(problem_spec(1, world, local).topology).value();
  };
  CHECK(is_on_all_ranks(grid, topology(2, 2)));
  CHECK(is_on_all_ranks(rows, topology(2, 2)));
  CHECK(fills_hosts(grid, topology(4, 2)));
  CHECK(fills_hosts(rows, topology(4, 2)));
  CHECK(is_free(grid, topology(4, 1)));
  CHECK(is_free(store.add_even(TableId(0), kTableColumnWise, 2), topology(2, 2)));
  CHECK_FALSE(is_free(store.add_even(TableId(0), kTableColumnWise, 2), topology(4, 2)));
  CHECK(is_free(store.add_even(TableId(0), kTableColumnWise, 1), topology(4, 2)));
}

TEST_CASE(
    "bound options: an option replaces one of the same form that is not cheaper, a single shard "
    "one of any form") {
  OptionStore store;
  const TableId table(0);
  const Topology topology = Topology::make(problem_spec(1, 4, 2).topology).value();
  const auto stands_in = [&](const ShardingOption& a, const ShardingOption& b) {
    return replaces(a, b, topology, PerfModel::kPerf);
  };
  const auto& rows = store.add_even(table, kTableRowWise, 2, 1, 10);
  const auto& grid = store.add_even(table, kGridShard, 2, 2, 10);
  CHECK(stands_in(rows, grid));
  CHECK_FALSE(stands_in(grid, rows));
  CHECK_FALSE(stands_in(rows, store.add_even(table, kGridShard, 4, 2, 10)));
  CHECK_FALSE(stands_in(rows, store.add_even(table, kColumnWise, 2, 2, 10)));
  const auto& whole = store.add_even(table, kTableWise, 1, 2, 10);
  CHECK(stands_in(whole, grid));
  CHECK_FALSE(stands_in(whole, rows));
  CHECK_FALSE(stands_in(store.add_even(table, kTableWise, 1, 2, 11), grid));
  const ShardExtent extent{24, 4, 0, 0, 0, 4, 1};
  const ShardCost dear{{Bytes(10), Bytes(0)}, {Milliseconds(3), {}, {}, {}, {}}};
  const ShardCost cheap{{Bytes(10), Bytes(0)}, {Milliseconds(1), {}, {}, {}, {}}};
  const auto& uneven = store.add(table, kColumnWise, {extent, extent}, {dear, cheap});
  const auto& turned = store.add(table, kColumnWise, {extent, extent}, {cheap, dear});
  CHECK(stands_in(whole, uneven));
  CHECK_FALSE(stands_in(turned, uneven));
}

}  // namespace shardwright::bound_options_test
