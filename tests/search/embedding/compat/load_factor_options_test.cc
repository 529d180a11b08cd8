// The options with other cache sizes from which best mode chooses.
#include "search/embedding/compat/load_factor_options.h"

#include <doctest/doctest.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/embedding/load_factors.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/estimate.h"
#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::load_factor_options_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// Two cached tables on two ranks, table-wise or row-wise. The first table lists load factors.
std::shared_ptr<const SearchSpace> declared_space() {
  ProblemSpec spec = problem_spec(2, 2, 2, 100'000, 64);
  for (Table& table : spec.tables) {
    ParameterConstraints& constraints = table.constraints.emplace();
    constraints.sharding_types = {ShardingType::kTableWise, ShardingType::kRowWise};
    constraints.compute_kernels = {ComputeKernel::kFusedUvm, ComputeKernel::kFusedUvmCaching};
    constraints.cache_params.emplace().load_factor = 0.25;
  }
  spec.tables[0].constraints->cache_params->load_factors = {0.125, 0.25, 1.0};
  InlineExecutor executor;
  return enumerate(std::make_shared<const Problem>(Problem::make(spec).value()), executor).value();
}

std::shared_ptr<const SearchSpace> extended(std::shared_ptr<const SearchSpace> space) {
  InlineExecutor executor;
  return with_load_factors(std::move(space), executor).value();
}

const ShardingOption& cached(const SearchSpace& space, std::size_t table, ShardingType type) {
  for (const ShardingOption& option : space.options()) {
    if (option.table.index() == table && option.sharding_type == type &&
        option.compute_kernel == ComputeKernel::kFusedUvmCaching) {
      return option;
    }
  }
  FAIL("no such option");
  return space.options().front();
}

Plan plan_of(const std::shared_ptr<const SearchSpace>& space, const ShardingOption& first) {
  const std::vector<const ShardingOption*> options{&first,
                                                   &cached(*space, 1, ShardingType::kTableWise)};
  std::vector<Rank> ranks(first.num_shards() + 1, 1);
  ranks[0] = 0;
  return Plan::make(space, options, ranks);
}

}  // namespace

TEST_CASE("load factor options: every cache at every load factor, with the estimator's costs") {
  const auto declared = declared_space();
  const auto space = extended(declared);
  CHECK(space->base() == declared);
  REQUIRE(space->size() == declared->size() + 4);
  for (std::size_t i = 0; i < declared->size(); ++i)
    CHECK(space->options()[i] == declared->options()[i]);
  const Estimator estimator(declared->problem());
  std::size_t at = declared->size();
  for (const ShardingType type : {ShardingType::kTableWise, ShardingType::kRowWise}) {
    const ShardingOption& own = cached(*declared, 0, type);
    CHECK(space->options()[at++] == with_load_factor(own, 0.125, estimator).value());
    CHECK(space->options()[at++] == in_plain_hbm(own, estimator).value());
  }
  CHECK_FALSE(check_load_factors(*space, load_factors_of(*space)).has_value());
}

TEST_CASE("load factor options: a space is extended once, and not where nothing is to choose") {
  const auto space = extended(declared_space());
  CHECK(extended(space) == space);
  ProblemSpec spec = space->problem().spec();
  spec.tables[0].constraints->cache_params->load_factors.reset();
  InlineExecutor executor;
  const auto fixed =
      enumerate(std::make_shared<const Problem>(Problem::make(spec).value()), executor).value();
  CHECK(extended(fixed) == fixed);
}

TEST_CASE("load factor options: a plan of other caches gets the next smaller ones") {
  const auto declared = declared_space();
  const auto space = extended(declared);
  const Estimator estimator(declared->problem());
  const ShardingOption& own = cached(*declared, 0, ShardingType::kRowWise);
  const auto factor_of = [&](std::optional<double> load_factor) {
    const ShardingOption option = load_factor
                                      ? with_load_factor(own, load_factor, estimator).value()
                                      : in_plain_hbm(own, estimator).value();
    const Plan plan = plan_of(declared, option);
    const Plan found = on_load_factors(space, plan).value();
    CHECK(found[0].option->table == TableId(0));
    CHECK(found[0].option->sharding_type == ShardingType::kRowWise);
    CHECK(found.ranks_identity(1) == plan.ranks_identity(1));
    CHECK(found[1].option == &cached(*space, 1, ShardingType::kTableWise));
    return found[0].option->load_factor;
  };
  CHECK(factor_of(0.2) == 0.125);
  CHECK(factor_of(0.25) == 0.25);
  CHECK(factor_of(0.9) == 0.25);
  CHECK(factor_of(std::nullopt) == std::nullopt);
  const ShardingOption smaller = with_load_factor(own, 0.1, estimator).value();
  CHECK_FALSE(on_load_factors(space, plan_of(declared, smaller)).has_value());
}

}  // namespace shardwright::load_factor_options_test
