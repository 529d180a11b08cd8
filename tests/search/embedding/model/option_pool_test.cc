// The option pool: columns of a search space, and options that are added during a search.
#include "search/embedding/model/option_pool.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "search/embedding/compat/embedding_enumerator.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/naive/naive_planner.h"
#include "tests/support/embedding/random_embedding.h"
#include "tests/support/embedding/space_builder.h"

namespace shardwright::option_pool_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;
using enum ShardingType;

std::vector<std::uint32_t> ids(const std::vector<OptionId>& options) {
  std::vector<std::uint32_t> values;
  for (const OptionId id : options)
    values.push_back(id.value());
  return values;
}

}  // namespace

TEST_CASE(
    "option pool: weights of virtual tables count among the totals, although they take no memory") {
  for (const std::size_t count : {std::size_t{15}, std::size_t{16}}) {
    ProblemSpec spec = problem_spec(count, 2, 2, std::int64_t{1} << 50, 64);
    for (Table& table : spec.tables) {
      ParameterConstraints& constraints = table.constraints.emplace();
      constraints.sharding_types = {kRowWise};
      constraints.compute_kernels = {ComputeKernel::kDramVirtualTable};
    }
    InlineExecutor executor;
    const auto problem = std::make_shared<const Problem>(Problem::make(spec).value());
    CHECK(OptionPool(enumerate(problem, executor).value()).totals_fit() == (count < 16));
  }
}

TEST_CASE("option pool: rows hold the sums over the shards of the options") {
  for (const std::uint64_t seed : seeds({41})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 100; ++i) {
      const auto problem =
          random_problem(random, {.max_tables = 6, .scaleup = false, .external = true});
      const OptionPool pool(random_space(random, problem));
      for (std::size_t o = 0; o < pool.size(); ++o) {
        const ShardingOption& option = pool.option(OptionId(o));
        const OptionRow& row = pool.row(OptionId(o));
        CHECK(row.table == option.table.value());
        CHECK(row.num_shards == option.num_shards());
        CHECK(row.partition_by == option.partition_by());
        CHECK(row.storage == naive::total_storage(option));
        CHECK(row.perf_ms == naive::total_perf(option));
        Storage most;
        double max_perf = 0;
        bool equal = true;
        for (std::uint32_t s = 0; s < option.num_shards(); ++s) {
          const ShardCost& cost = option.shard_cost(s);
          for (const MemoryTier tier : kMemoryTiers)
            most[tier] = std::max(most[tier], cost.storage[tier]);
          max_perf = std::max(max_perf, cost.perf.total().value());
          equal = equal && cost.perf == option.shard_cost(0).perf;
        }
        CHECK(row.max_storage == most);
        CHECK(row.max_shard_perf_ms == max_perf);
        CHECK(row.equal_perf == equal);
      }
    }
  }
}

TEST_CASE("option pool: tables come in order of first appearance, with their options in order") {
  const OptionPool pool(SpaceBuilder(problem_spec(3, 2, 2))
                            .add(2, kTableWise, 1, 1, 1)
                            .add(0, kTableWise, 1, 1, 1)
                            .add(2, kRowWise, 2, 1, 1)
                            .add(0, kRowWise, 2, 1, 1)
                            .take());
  REQUIRE(pool.tables().size() == 2);  // the second table has no option
  CHECK(pool.tables()[0].table == TableId(2));
  CHECK(ids(pool.tables()[0].options) == std::vector<std::uint32_t>{0, 2});
  CHECK(pool.tables()[1].table == TableId(0));
  CHECK(ids(pool.tables()[1].options) == std::vector<std::uint32_t>{1, 3});
}

TEST_CASE("option pool: options of equal content share a token, others do not") {
  const OptionPool pool(SpaceBuilder(problem_spec(2, 2, 2))
                            .add(0, kTableWise, 1, 1, 10)
                            .add(0, kTableWise, 1, 2, 10)
                            .add(1, kTableWise, 1, 1, 10)
                            .add(0, kTableWise, 1, 1, 10)
                            .add(0, kTableWise, 1, 1, 10)
                            .take());
  const auto token = [&](std::size_t id) { return pool.token(OptionId(id)); };
  CHECK(token(0) == token(3));
  CHECK(token(0) == token(4));
  CHECK_FALSE(token(0) == token(1));
  CHECK_FALSE(token(0) == token(2));
  CHECK_FALSE(token(1) == token(2));
}

TEST_CASE("option pool: interning returns the id that equal content already has") {
  const auto space = SpaceBuilder(problem_spec(2, 2, 2))
                         .add(0, kTableWise, 1, 1, 10)
                         .add(1, kTableWise, 1, 1, 10)
                         .add(1, kTableWise, 1, 1, 10)
                         .take();
  OptionPool pool(space);
  CHECK(pool.intern(space->options()[0]) == OptionId(0));
  CHECK(pool.intern(space->options()[2]) == OptionId(1));
  CHECK(pool.size() == 3);

  ShardingOption scaled = space->options()[0];
  scaled.load_factor = 0.5;
  const OptionId added = pool.intern(scaled);
  CHECK(added == OptionId(3));
  CHECK(pool.intern(scaled) == added);
  CHECK(pool.option(added) == scaled);
  CHECK(pool.row(added).storage.hbm == Bytes(10));
  CHECK_FALSE(pool.token(added) == pool.token(OptionId(0)));
  scaled.load_factor = 0.25;
  CHECK(pool.intern(scaled) == OptionId(4));
  CHECK(pool.size() == 5);
  CHECK(pool.all_options()[3] == &pool.option(added));
  CHECK(pool.num_added() == 2);
}

TEST_CASE("option pool: an option is found by its address") {
  const auto space = SpaceBuilder(problem_spec(2, 2, 2))
                         .add(0, kTableWise, 1, 1, 10)
                         .add(1, kTableWise, 1, 1, 10)
                         .take();
  OptionPool pool(space);
  ShardingOption scaled = space->options()[1];
  scaled.load_factor = 0.5;
  pool.intern(scaled);
  for (std::size_t i = 0; i < 3; ++i)
    CHECK(pool.id_of(&pool.option(OptionId(i))) == OptionId(i));
  CHECK_FALSE(pool.id_of(&scaled).has_value());
  CHECK_FALSE(pool.id_of(nullptr).has_value());
}

TEST_CASE("option pool: options that a plan points to outlive the pool") {
  std::shared_ptr<const void> owner;
  const ShardingOption* option = nullptr;
  {
    OptionPool pool(SpaceBuilder(problem_spec(1, 2, 2)).add(0, kTableWise, 1, 1, 10).take());
    ShardingOption scaled = pool.option(OptionId(0));
    scaled.load_factor = 0.5;
    option = &pool.option(pool.intern(scaled));
    owner = pool.owner();
  }
  CHECK(option->load_factor == 0.5);
  CHECK(option->layout->num_shards == 1);
}

}  // namespace shardwright::option_pool_test
