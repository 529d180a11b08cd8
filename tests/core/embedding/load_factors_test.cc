// The load factors that best mode may choose, and the check that a proof covers all of them.
#include "core/embedding/load_factors.h"

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/embedding/embedding_builders.h"

namespace shardwright::load_factors_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// The first of two tables has a cache of a tenth of its rows.
ProblemSpec cached_spec() {
  ProblemSpec spec = problem_spec(2, 2, 2);
  CacheParams& cache = spec.tables[0].constraints.emplace().cache_params.emplace();
  cache.load_factor = 0.1;
  cache.stats = CacheStatistics{0.5, 100, {1, 2, 3}, 24};
  return spec;
}

CacheParams& cache_of(ProblemSpec& spec) { return *spec.tables[0].constraints->cache_params; }

void add_scaleup(ProblemSpec& spec) {
  spec.proposers.emplace_back().type = ProposerSpec::Type::kScaleup;
}

std::vector<double> chosen(const ProblemSpec& spec) {
  const Problem problem = Problem::make(spec).value();
  const std::vector<TableLoadFactors> all = load_factors_to_choose(problem);
  CHECK(load_factors_to_choose(problem, problem.table(TableId(1))).empty());
  if (all.empty()) return {};
  CHECK(all.size() == 1);
  CHECK(all[0].table == TableId(0));
  CHECK(load_factors_to_choose(problem, problem.table(TableId(0))) == all[0].values);
  return all[0].values;
}

std::string place_of_error(const ProblemSpec& spec) {
  const auto made = Problem::make(spec);
  return made.ok() ? "" : made.error().where;
}

// Returns a space with one cached option, extended by an option for each load factor. A load factor
// of 1 gives an option in plain HBM.
std::shared_ptr<const SearchSpace> extended(const ProblemSpec& spec, OptionStore& store,
                                            const std::vector<double>& load_factors) {
  const auto problem = std::make_shared<const Problem>(Problem::make(spec).value());
  ShardingOption cached = store.add_even(TableId(0), ShardingType::kTableWise, 1);
  cached.compute_kernel = ComputeKernel::kFusedUvmCaching;
  cached.load_factor = 0.1;
  std::vector<ShardingOption> added;
  for (const double load_factor : load_factors) {
    ShardingOption& option = added.emplace_back(cached);
    option.load_factor = load_factor;
    if (load_factor < 1) continue;
    option.compute_kernel = ComputeKernel::kFused;
    option.load_factor.reset();
  }
  const auto base = SearchSpace::make(problem, nullptr, {cached});
  return SearchSpace::extend(base, std::move(added));
}

}  // namespace

TEST_CASE("load factors: a constraint fixes them unless scale-up would enlarge the cache") {
  ProblemSpec spec = cached_spec();
  CHECK(chosen(spec).empty());
  add_scaleup(spec);
  CHECK(chosen(spec) ==
        std::vector<double>{0.12, 0.15, 0.18, 0.22, 0.27, 0.33, 0.39, 0.47, 0.56, 0.68, 0.82, 1.0});
  ProblemSpec other = spec;
  cache_of(other).stats->expected_lookups = 0;
  CHECK(chosen(other).empty());
  cache_of(other).stats.reset();
  CHECK(chosen(other).empty());
  other = spec;
  cache_of(other).load_factor.reset();
  CHECK(chosen(other).empty());
}

TEST_CASE("load factors: a list is sorted, and an empty one is the whole ladder") {
  ProblemSpec spec = cached_spec();
  cache_of(spec).load_factors = {0.5, 0.1, 0.5};
  CHECK(chosen(spec) == std::vector<double>{0.1, 0.5});
  add_scaleup(spec);
  CHECK(chosen(spec) == std::vector<double>{0.1, 0.5});
  cache_of(spec).load_factors->clear();
  CHECK(chosen(spec) == std::vector<double>(kLoadFactorLadder.begin(), kLoadFactorLadder.end()));
}

TEST_CASE("load factors: a list that means nothing is refused with its place") {
  const std::string place = "/constraints/t0/cache_params/load_factors";
  ProblemSpec spec = cached_spec();
  cache_of(spec).load_factors = {0.5};
  CHECK(place_of_error(spec) == "");
  ProblemSpec other = spec;
  cache_of(other).load_factors = {0.5, 0.0};
  CHECK(place_of_error(other) == place + "/1");
  cache_of(other).load_factors = std::vector<double>(65, 0.5);
  CHECK(place_of_error(other) == place);
  other = spec;
  other.tables[0].constraints->compute_kernels = {ComputeKernel::kFused};
  CHECK(place_of_error(other) == place);
  other = spec;
  other.topology.compute_device = ComputeDevice::kCpu;
  CHECK(place_of_error(other) == place);
  other = spec;
  cache_of(other).load_factor.reset();
  CHECK(place_of_error(other) == place);
  other.sharder.cache_load_factor = 0.2;
  CHECK(place_of_error(other) == "");
}

TEST_CASE("load factors: the check wants the sets of the problem, no more and no less") {
  ProblemSpec spec = cached_spec();
  cache_of(spec).load_factors = {0.1, 0.5, 1.0};
  const std::vector<TableLoadFactors> claimed{{TableId(0), {0.1, 0.5, 1.0}}};
  OptionStore store;
  CHECK(check_load_factors(*extended(spec, store, {0.5, 1.0}), claimed).value_or("") == "");
  CHECK(load_factors_of(*extended(spec, store, {0.5, 1.0})) == claimed);
  CHECK(check_load_factors(*extended(spec, store, {0.5, 1.0}), {}).has_value());
  CHECK(check_load_factors(*extended(spec, store, {0.5, 1.0}), {{TableId(0), {0.1, 0.5}}}));
  CHECK(check_load_factors(*extended(spec, store, {0.5}), claimed).has_value());
  CHECK(check_load_factors(*extended(spec, store, {1.0}), claimed).has_value());
  CHECK(check_load_factors(*extended(spec, store, {0.5, 0.75, 1.0}), claimed).has_value());
}

TEST_CASE("load factors: a space that was not extended ranges over those that it declares") {
  ProblemSpec spec = cached_spec();
  cache_of(spec).load_factors = {0.5};
  OptionStore store;
  const auto space = extended(spec, store, {0.5});
  const SearchSpace& declared = space->declared();
  CHECK(load_factors_of(declared).empty());
  CHECK_FALSE(check_load_factors(declared, {}).has_value());
  CHECK(check_load_factors(declared, {{TableId(0), {0.5}}}).has_value());
}

}  // namespace shardwright::load_factors_test
