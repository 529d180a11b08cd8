// Scale-up of caches: the random search for a budget, its division among the caches, and the plans.
#include "search/embedding/compat/scaleup_proposer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/load_factor_options.h"
#include "tests/support/embedding/embedding_builders.h"
#include "tests/support/embedding/search_run.h"
#include "tests/support/random.h"

namespace shardwright::scaleup_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using namespace shardwright::test_support;

// The first two numbers of torch.rand after torch.Generator().manual_seed(42).
constexpr double kFirstDraw = 0.8822692632675171;
constexpr double kSecondDraw = 0.9150039553642273;

CachedTable cached_table(double slope, double base, float load_factor, float priority) {
  CachedTable table;
  table.model = {static_cast<float>(slope), static_cast<float>(base)};
  table.fused_hbm_bytes = std::numeric_limits<std::int64_t>::max();
  table.load_factor = load_factor;
  table.priority = priority;
  return table;
}

double bytes_of(const std::vector<CachedTable>& tables, const std::vector<float>& factors) {
  double sum = 0;
  for (std::size_t i = 0; i < tables.size(); ++i)
    sum += tables[i].model.bytes(factors[i]);
  return sum;
}

// Three tables of 100,000 x 64 on two ranks, with load factor 0.2 and a scale-up proposer.
ProblemSpec offloaded(std::int64_t hbm_per_rank) {
  ProblemSpec spec = problem_spec(3, 2, 2, 100'000, 64);
  spec.topology.hbm_cap_bytes = hbm_per_rank;
  spec.reservation.type = ReservationSpec::Type::kNone;
  for (std::size_t i = 0; i < 3; ++i) {
    ParameterConstraints& constraints = spec.tables[i].constraints.emplace();
    constraints.sharding_types = {ShardingType::kColumnWise};
    constraints.compute_kernels = {ComputeKernel::kFusedUvmCaching};
    CacheParams& cache = constraints.cache_params.emplace();
    cache.load_factor = 0.2;
    cache.stats = CacheStatistics{0.1 * static_cast<double>(i + 1), 1000, {5, 3, 2, 1}, 100'000};
  }
  ProposerSpec proposer;
  proposer.type = ProposerSpec::Type::kScaleup;
  spec.proposers = {proposer};
  return spec;
}

SearchRun planned(ProblemSpec spec) {
  const auto problem = std::make_shared<const Problem>(Problem::make(std::move(spec)).value());
  InlineExecutor executor;
  return run_search(enumerate(problem, executor).value(), problem->topology());
}

std::int64_t hbm_of(const SearchRun& run, const std::vector<OptionId>& options) {
  std::int64_t bytes = 0;
  for (const OptionId id : options) {
    bytes += run.options[id.index()]->total_storage().hbm.value();
  }
  return bytes;
}

}  // namespace

TEST_CASE("luus-jaakola: draws what torch draws") {
  LuusJaakolaSearch search(0, 1, 16, std::nullopt);
  CHECK(search.next(0) == kFirstDraw);
  // A wider range avoids that the probe is clamped.
  search.shrink_right(10);
  CHECK(search.next(1) == kFirstDraw + (-10 + 20 * kSecondDraw));
}

TEST_CASE("luus-jaakola: probes a limited number of points, all within the range") {
  for (const int iterations : {2, 5, 16}) {
    LuusJaakolaSearch search(3, 8, iterations, 1.0);
    int probes = 0;
    double cost = 0;
    while (const std::optional<double> x = search.next(cost)) {
      CHECK(*x >= 3);
      CHECK(*x <= 8);
      cost = (*x - 5) * (*x - 5);
      ++probes;
    }
    CHECK(probes == iterations);
  }
}

TEST_CASE("luus-jaakola: a boundary whose cost is known is not probed again") {
  LuusJaakolaSearch search(0, 1, 200, 1.0);  // the cost at 0 is known
  int right = 0;
  double cost = 0;
  while (const std::optional<double> x = search.next(cost)) {
    CHECK(*x != 0);
    if (*x == 1) ++right;
    cost = -*x;  // least at the right boundary
  }
  CHECK(right == 1);
}

TEST_CASE("luus-jaakola: nothing is probed beyond a failed point") {
  LuusJaakolaSearch search(0, 100, 50, 1.0);
  search.next(0);
  search.shrink_right(40);
  double cost = 1;
  while (const std::optional<double> x = search.next(cost)) {
    CHECK(*x < 40);
    cost = std::abs(*x - 20);
  }
}

TEST_CASE("luus-jaakola: gets near the minimum") {
  LuusJaakolaSearch search(0, 1000, 400, 1e9);
  double best = 1e9;
  double cost = 0;
  while (const std::optional<double> x = search.next(cost)) {
    cost = (*x - 321) * (*x - 321);
    best = std::min(best, cost);
  }
  CHECK(best < 10 * 10);
}

TEST_CASE("luus-jaakola: a range of one known point ends") {
  LuusJaakolaSearch search(0, 0, 16, 1.0);
  CHECK(search.next(0) == 0.0);
  CHECK_FALSE(search.next(1).has_value());
}

TEST_CASE("cache budget: two sizes determine the line through them") {
  const CacheStorageModel model = fit_cache_storage(100 + 1000, 100 + 9000);
  CHECK(model.bytes(0.5F) == doctest::Approx(5100).epsilon(1e-6));  // of single precision
  CHECK(model.bytes(0) == doctest::Approx(100).epsilon(1e-4));
}

TEST_CASE(
    "cache budget: without a budget nothing changes, with a large one every cache holds its whole "
    "table") {
  const std::vector<CachedTable> tables = {cached_table(1000, 10, 0.25F, 1),
                                           cached_table(5000, 0, 0.5F, 3)};
  for (const double budget : {-5.0, 0.0, 1.0}) {
    CHECK(allocate_cache_budget(tables, budget) == std::vector<float>{0.25F, 0.5F});
  }
  CHECK(allocate_cache_budget(tables, 1e9) == std::vector<float>{1, 1});
}

TEST_CASE(
    "cache budget: is divided by priority, and what one cache cannot use goes to the others") {
  const std::vector<CachedTable> tables = {cached_table(1000, 0, 0, 1),
                                           cached_table(1000, 0, 0, 3)};
  CHECK(allocate_cache_budget(tables, 400) == std::vector<float>{0.1F, 0.3F});
  // Of 1,600 bytes the second table takes 1,000, which fill it. The first takes the others.
  CHECK(allocate_cache_budget(tables, 1600) == std::vector<float>{0.6F, 1});
}

TEST_CASE("cache budget: a cache larger than its table is filled and gives back the difference") {
  std::vector<CachedTable> tables = {cached_table(1000, 500, 0, 1), cached_table(1000, 0, 0, 1)};
  tables[0].fused_hbm_bytes = 600;  // put into HBM whole if the cache exceeds 100 bytes
  // Each table gets 200 of 400 bytes. The first needs only 100 of them, so the second gets 300.
  CHECK(allocate_cache_budget(tables, 400) == std::vector<float>{1, 0.3F});
}

TEST_CASE("cache budget: tables without priority get nothing") {
  const std::vector<CachedTable> tables = {cached_table(1000, 0, 0.5F, 0),
                                           cached_table(1000, 0, 0.5F, 0)};
  CHECK(allocate_cache_budget(tables, 100) == std::vector<float>{0.5F, 0.5F});
}

TEST_CASE("cache budget: never shrinks a cache, never overfills one, never overspends") {
  for (const std::uint64_t seed : seeds({101, 102})) {
    INFO("SHARDWRIGHT_TEST_SEED=", seed);
    Random random(seed);
    for (int i = 0; i < 500; ++i) {
      std::vector<CachedTable> tables;
      std::vector<float> before;
      for (std::size_t t = 0, count = 1 + random.below(6); t < count; ++t) {
        before.push_back(static_cast<float>(random.below(90)) / 100);
        tables.push_back(cached_table(static_cast<double>(1 + random.below(1'000'000)),
                                      static_cast<double>(random.below(10'000)), before.back(),
                                      static_cast<float>(1 + random.below(50))));
      }
      const auto budget = static_cast<double>(random.below(3'000'000));
      const std::vector<float> after = allocate_cache_budget(tables, budget);
      const std::vector<float> more = allocate_cache_budget(tables, budget * 2);
      REQUIRE(after.size() == tables.size());
      bool full = true;
      for (std::size_t t = 0; t < tables.size(); ++t) {
        // Load factors have single precision.
        CHECK(after[t] >= before[t] - 1e-4F);
        CHECK(after[t] <= 1.0001F);
        CHECK(more[t] >= after[t] - 1e-4F);
        full = full && after[t] > 0.9999F;
      }
      const double spent = bytes_of(tables, after) - bytes_of(tables, before);
      CHECK(spent <= budget + 2 + 1e-4 * bytes_of(tables, after));
      if (!full) CHECK(spent >= budget - 2 - 1e-4 * bytes_of(tables, after));
    }
  }
}

TEST_CASE("scale-up: enlarges caches in sixteen steps, up to the free memory") {
  const SearchRun run = planned(offloaded(60'000'000));
  REQUIRE(run.trace.size() >= 2);
  CHECK(run.trace.size() <= 17);
  TraceReader reader;
  const std::int64_t start = hbm_of(run, reader.next(run.trace[0]));
  bool grew = false;
  for (std::size_t i = 1; i < run.trace.size(); ++i) {
    const std::int64_t own = hbm_of(run, reader.next(run.trace[i]));
    CHECK(own >= start);
    CHECK(own <= 2 * 60'000'000);
    grew = grew || own > start;
  }
  CHECK(grew);
  CHECK(run.best_rating < *run.trace[0].rating);
  REQUIRE(run.plan.has_value());
}

TEST_CASE("scale-up: with memory for everything the best plan keeps tables in plain HBM") {
  const SearchRun run = planned(offloaded(1'000'000'000));
  REQUIRE(run.plan.has_value());
  bool promoted = false;
  for (std::size_t i = 0; i < run.plan->size(); ++i) {
    promoted = promoted || (*run.plan)[i].option->compute_kernel == ComputeKernel::kFused;
  }
  CHECK(promoted);
}

TEST_CASE("scale-up: if the smallest caches do not fit, it stops at once") {
  const SearchRun run = planned(offloaded(1'000'000));
  CHECK(run.trace.size() == 1);
  CHECK_FALSE(run.plan.has_value());
}

TEST_CASE(
    "scale-up: a table whose constraints name no load factor keeps its cache and is not scaled") {
  for (const TorchRecRelease release : {TorchRecRelease::kA48cef79, TorchRecRelease::k1_9_2}) {
    ProblemSpec spec = offloaded(60'000'000);
    spec.torchrec = release;
    for (Table& table : spec.tables)
      table.constraints->cache_params->load_factor.reset();
    const SearchRun run = planned(std::move(spec));
    CHECK(run.trace.size() == 1);
    REQUIRE(run.plan.has_value());
    for (std::size_t i = 0; i < run.plan->size(); ++i) {
      CHECK((*run.plan)[i].option->compute_kernel == ComputeKernel::kFusedUvmCaching);
      CHECK_FALSE((*run.plan)[i].option->load_factor.has_value());
    }
  }
}

TEST_CASE("scale-up: a table that may be cached needs cache_params, whatever they say") {
  ProblemSpec spec = offloaded(60'000'000);
  InlineExecutor executor;
  const auto checked = [&] {
    const auto problem = std::make_shared<const Problem>(Problem::make(spec).value());
    return EmbeddingOffloadScaleupProposer::check_caches(*enumerate(problem, executor).value());
  };
  spec.tables[1].constraints->cache_params = CacheParams();
  CHECK(checked().ok());
  spec.tables[1].constraints->cache_params.reset();
  REQUIRE_FALSE(checked().ok());
  CHECK(checked().error().where == "/constraints/t1/cache_params");
  spec.tables[1].constraints->compute_kernels = {ComputeKernel::kFused};
  CHECK(checked().ok());
}

TEST_CASE("scale-up: without statistics there is nothing to scale") {
  ProblemSpec spec = offloaded(60'000'000);
  for (Table& table : spec.tables)
    table.constraints->cache_params->stats.reset();
  const SearchRun run = planned(std::move(spec));
  CHECK(run.trace.size() == 1);
  CHECK(run.plan.has_value());
}

}  // namespace shardwright::scaleup_test
