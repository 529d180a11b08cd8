// Sharding options: totals over runs of shards, and when two options are equal.
#include "core/embedding/sharding_option.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::sharding_option_test {

namespace {

using namespace shardwright::embedding;
using shardwright::Bytes;
using shardwright::Milliseconds;
using shardwright::test_support::OptionStore;

ShardCost cost(double ms, std::int64_t hbm, std::int64_t ddr) {
  ShardCost cost;
  cost.storage = {Bytes(hbm), Bytes(ddr)};
  cost.perf.fwd_compute = Milliseconds(ms);
  return cost;
}

// 10 rows over 4 ranks: 3, 3, 3, 1.
const std::vector<ShardExtent> kTenRowsOverFour{{3, 8, 0, 0, 3, 0, 3}, {1, 8, 9, 0, 0, 0, 1}};

}  // namespace

TEST_CASE("shard layout: counts the shards of all runs") {
  ShardLayout layout;
  CHECK(layout.num_shards == 0);
  for (const ShardExtent& extent : kTenRowsOverFour)
    layout.append(extent);
  CHECK(layout.num_shards == 4);
  CHECK(layout.extents.size() == 2);
}

TEST_CASE("sharding option: totals count every shard of every run") {
  OptionStore store;
  const ShardingOption& option = store.add(TableId(0), ShardingType::kRowWise, kTenRowsOverFour,
                                           {cost(0.1, 30, 3), cost(0.7, 10, 1)});
  CHECK(option.num_shards() == 4);
  CHECK(option.partition_by() == PartitionBy::kUniform);
  CHECK(option.total_storage() == Storage{Bytes(100), Bytes(10)});
  CHECK(option.total_perf().value() == 0.1 + 0.1 + 0.1 + 0.7);
  CHECK(option.max_shard_perf() == Milliseconds(0.7));
}

TEST_CASE("sharding option: totals are added shard by shard, not multiplied") {
  OptionStore store;
  const ShardingOption& option =
      store.add_even(TableId(0), ShardingType::kRowWise, 6, 0.1, 100, 24, 16);
  double loop = 0;
  for (int i = 0; i < 6; ++i)
    loop += 0.1;
  CHECK(option.total_perf().value() == loop);
  CHECK(option.total_perf().value() != 6 * 0.1);
}

TEST_CASE("sharding option: the largest shard may be in any run") {
  OptionStore store;
  const ShardingOption& first = store.add(TableId(0), ShardingType::kRowWise, kTenRowsOverFour,
                                          {cost(5, 1, 0), cost(2, 1, 0)});
  CHECK(first.max_shard_perf() == Milliseconds(5));
}

TEST_CASE("sharding option: each shard has the cost of its run") {
  OptionStore store;
  const ShardingOption& option = store.add(TableId(0), ShardingType::kRowWise, kTenRowsOverFour,
                                           {cost(0.1, 30, 3), cost(0.7, 10, 1)});
  CHECK(option.shard_cost(0) == cost(0.1, 30, 3));
  CHECK(option.shard_cost(2) == cost(0.1, 30, 3));
  CHECK(option.shard_cost(3) == cost(0.7, 10, 1));
}

TEST_CASE("shard layout: equal cuts are one object, any difference makes another") {
  ShardLayoutInterner layouts;
  const auto intern = [&](const ShardExtent& extent) {
    ShardLayout layout;
    layout.append(extent);
    return layouts.intern(std::move(layout));
  };
  const ShardExtent plain{3, 8, 1, 2, 4, 5, 6};
  const ShardLayout* const layout = intern(plain);
  CHECK(intern(plain) == layout);
  for (const ShardExtent& other :
       {ShardExtent{9, 8, 1, 2, 4, 5, 6}, ShardExtent{3, 9, 1, 2, 4, 5, 6},
        ShardExtent{3, 8, 9, 2, 4, 5, 6}, ShardExtent{3, 8, 1, 9, 4, 5, 6},
        ShardExtent{3, 8, 1, 2, 9, 5, 6}, ShardExtent{3, 8, 1, 2, 4, 9, 6},
        ShardExtent{3, 8, 1, 2, 4, 5, 9}}) {
    CHECK(intern(other) != layout);
  }
  CHECK(layouts.size() == 8);
}

TEST_CASE("sharding option: equal options are one object, any difference makes another") {
  OptionStore store;
  ShardingOptionInterner options;
  const ShardingOption& plain = store.add_even(TableId(1), ShardingType::kTableWise, 1, 2.0, 300);
  const ShardingOption* const interned = options.intern(plain);
  CHECK(options.intern(plain) == interned);
  const auto other = [&](auto change) {
    ShardingOption option = plain;
    change(option);
    return options.intern(std::move(option));
  };
  CHECK(other([](ShardingOption& o) { o.table = TableId(2); }) != interned);
  CHECK(other([](ShardingOption& o) { o.sharding_type = ShardingType::kRowWise; }) != interned);
  CHECK(other([](ShardingOption& o) { o.compute_kernel = ComputeKernel::kDense; }) != interned);
  CHECK(other([](ShardingOption& o) { o.load_factor = 0.5; }) != interned);
  CHECK(other([](ShardingOption& o) { o.batch_size = 7; }) != interned);
  CHECK(other([](ShardingOption& o) { o.is_pooled = false; }) != interned);
  CHECK(other([](ShardingOption& o) { o.is_weighted = true; }) != interned);
  CHECK(other([](ShardingOption& o) { o.costs[0].storage.ddr = Bytes(1); }) != interned);
  CHECK(other([](ShardingOption& o) { o.costs[0].perf.bwd_comms = Milliseconds(1); }) != interned);
  // The same total, another component.
  CHECK(other([](ShardingOption& o) {
          std::swap(o.costs[0].perf.fwd_compute, o.costs[0].perf.bwd_compute);
        }) != interned);
  CHECK(options.size() == 11);
}

TEST_CASE("sharding option: zero and minus zero are equal, so they are one object") {
  OptionStore store;
  ShardingOptionInterner options;
  ShardingOption zero = store.add_even(TableId(0), ShardingType::kTableWise, 1, 0.0);
  zero.load_factor = 0.0;
  ShardingOption minus = zero;
  minus.load_factor = -0.0;
  minus.costs[0].perf.fwd_compute = Milliseconds(-0.0);
  minus.costs[0].perf.fwd_comms = Milliseconds(-0.0);
  minus.costs[0].perf.bwd_compute = Milliseconds(-0.0);
  minus.costs[0].perf.bwd_comms = Milliseconds(-0.0);
  minus.costs[0].perf.prefetch_compute = Milliseconds(-0.0);
  REQUIRE(zero == minus);
  CHECK(options.intern(zero) == options.intern(minus));
}

}  // namespace shardwright::sharding_option_test
