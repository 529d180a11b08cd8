// Estimates that differ between releases of TorchRec or use configured hardware, compared with
// values worked out by hand.
#include <doctest/doctest.h>

#include <utility>

#include "search/embedding/compat/perf_estimator.h"
#include "tests/search/embedding/compat/estimate_fixture.h"

namespace shardwright::estimate_releases_test {
namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using shardwright::test_support::EstimateFixture;
using shardwright::test_support::perf_of;
using enum ShardingType;
using enum ComputeKernel;

EstimateFixture of_release(TorchRecRelease release) {
  EstimateFixture fixture;
  fixture.spec.torchrec = release;
  return fixture;
}

// A cache of half the rows: half of 64 lookups miss. The statistics expect 80 distinct ones.
EstimateFixture cached() {
  EstimateFixture fixture;
  CacheParams& cache = fixture.constraints().cache_params.emplace();
  cache.load_factor = 0.5;
  cache.stats = CacheStatistics{0.3, 80, {1, 1}, 100};
  return fixture;
}

double prefetch(EstimateFixture& fixture, ShardingType type) {
  return fixture.perf(type, kFusedUvmCaching).prefetch_compute.value();
}

}  // namespace

TEST_CASE("releases: from 1.9.2 on a pooling factor below one shrinks pooled outputs") {
  for (const auto& [release, samples] :
       {std::pair{TorchRecRelease::kA48cef79, 8}, std::pair{TorchRecRelease::k1_9_2, 2}}) {
    EstimateFixture fixture = of_release(release);
    fixture.constraints().pooling_factors = {0.25};
    const double output = samples * 4 * 128 * 4;
    const double forward = (2 * 4 * 8 + 2 * 4 * 512 + output) / 1024;
    CHECK(fixture.perf(kTableWise) == perf_of(forward, output / 64, 2 * forward, output / 64));
    CHECK(fixture.hbm(kTableWise) == 100 * 128 * 4 + 2 * 4 * 8 + static_cast<int>(output));
    fixture.constraints().pooling_factors = {2, 0.5};
    fixture.constraints().num_poolings = {1, 2};
    fixture.constraints().batch_sizes = {8, 4};
    const double more = (samples == 2 ? 8 + 4 : 8 + 8) * 4 * 128 * 4;
    CHECK(fixture.perf(kTableWise).fwd_comms.value() == more / 64);
  }
}

TEST_CASE("releases: from 1.9.2 on the distribution of inputs is known, and in no total") {
  const auto input_dist = [](TorchRecRelease release, ShardingType type) {
    const Problem problem = Problem::make(of_release(release).spec).value();
    ShardingOption option;
    option.table = TableId(0);
    option.sharding_type = type;
    return estimate_input_dist(estimate_inputs(problem, option)).value();
  };
  for (const ShardingType type : {kTableWise, kRowWise, kTableRowWise})
    CHECK(input_dist(TorchRecRelease::k1_9_2, type) == 16 * 4 * 8 / 64.0);
  CHECK(input_dist(TorchRecRelease::k1_9_2, kDataParallel) == 0);
  CHECK(input_dist(TorchRecRelease::kA48cef79, kTableWise) == 0);
  CHECK(of_release(TorchRecRelease::kA48cef79).perf(kTableWise) ==
        of_release(TorchRecRelease::k1_9_2).perf(kTableWise));
}

TEST_CASE("releases: from 1.9.2 on inference counts no backward pass at all") {
  EstimateFixture fixture = cached();
  fixture.spec.perf_estimator.is_inference = true;
  for (const ShardingType type : {kTableWise, kRowWise, kTableRowWise, kDataParallel}) {
    const Perf perf = fixture.perf(type, type == kDataParallel ? kDense : kFusedUvmCaching);
    CHECK(perf.fwd_compute.value() > 0);
    CHECK(perf.bwd_compute == Milliseconds());
    CHECK(perf.bwd_comms == Milliseconds());
    CHECK((perf.prefetch_compute.value() > 0) == (type != kDataParallel));
  }
}

TEST_CASE("releases: the links of pods are those between hosts from 1.9.2 on") {
  const auto pods = [](TorchRecRelease release) {
    EstimateFixture fixture = of_release(release);
    fixture.spec.topology.local_world_size = 1;
    fixture.spec.topology.pod_sizes = {2};
    return fixture;
  };
  EstimateFixture between = pods(TorchRecRelease::k1_9_2);
  // 16,384 bytes pass within the pod, and 8,192 bytes pass between pods.
  CHECK(between.perf(kTableRowWise).fwd_comms.value() == 16384.0 / 64 + 8192.0 / 64);
  CHECK(between.perf(kDataParallel).bwd_comms.value() ==
        51200.0 * 3 / 2 / 64 * 2 + 51200 * 9.22 / 1024);
  CHECK(between.estimate(kTableRowWise)->num_shards() == 2);
  EstimateFixture like_host = pods(TorchRecRelease::kA48cef79);
  CHECK(like_host.perf(kTableRowWise).fwd_comms.value() == 16384.0 / 128 + 8192.0 / 64);
}

TEST_CASE("hardware: coefficients weigh what each pass moves") {
  EstimateFixture fixture;
  HardwarePerfConfig& config = fixture.spec.perf_estimator.config.emplace();
  config.by_type[static_cast<std::size_t>(kTableWise)] =
      PassCoefficients{{2, 1, 0, 0.5}, PerfCoefficients{1, 1, 1, 0}};
  const Perf perf = fixture.perf(kTableWise);
  CHECK(perf.fwd_compute.value() == (2 * 512 + 32768 + 0.5 * 100) / 1024);
  CHECK(perf.bwd_compute.value() == (512.0 + 32768 + 16384) / 1024);
  CHECK(fixture.perf(kRowWise) == EstimateFixture().perf(kRowWise));
  config.by_kernel.push_back({kTableWise, kFused, {}});
  CHECK(fixture.perf(kTableWise) == EstimateFixture().perf(kTableWise));
}

TEST_CASE("hardware: bandwidths, multipliers and supported types") {
  EstimateFixture fixture;
  const double forward = fixture.perf(kTableWise).fwd_compute.value();
  HardwarePerfConfig& config = fixture.spec.perf_estimator.config.emplace();
  config.device_bw = 2048;
  config.bwd_compute_multiplier = 4;
  CHECK(fixture.perf(kTableWise).fwd_compute.value() == forward / 2);
  CHECK(fixture.perf(kTableWise).bwd_compute.value() == forward * 2);
  config.kernel_device_bandwidths.emplace_back(kFused, 4096);
  CHECK(fixture.perf(kTableWise).fwd_compute.value() == forward / 4);
  CHECK(fixture.perf(kTableWise, kFusedUvm).fwd_compute.value() == forward / 2);
  config.supported_sharding_types = {kRowWise};
  CHECK(fixture.estimate(kTableWise).error().where ==
        "/perf_estimator/config/supported_sharding_types");
  fixture.spec.torchrec = TorchRecRelease::kA48cef79;
  CHECK(Problem::make(fixture.spec).error().where == "/perf_estimator");
}

TEST_CASE("hardware: prefetching by bandwidth counts distinct lookups, or all") {
  EstimateFixture fixture = cached();
  CHECK(prefetch(fixture, kTableWise) == 40);
  fixture.spec.perf_estimator.use_batch_inputs_for_expected_cache_fetches = true;
  CHECK(prefetch(fixture, kTableWise) == 32);
  CHECK(prefetch(fixture, kRowWise) == 8);
}

TEST_CASE("hardware: prefetching by regression") {
  EstimateFixture fixture = cached();
  fixture.spec.perf_estimator.use_linear_regression_prefetch_estimate = true;
  CHECK_FALSE(Problem::make(fixture.spec).ok());
  fixture.spec.perf_estimator.config.emplace().prefetch =
      PrefetchCoefficients{0.5, 0.25, 1 / 128.0};
  CHECK(prefetch(fixture, kTableWise) == 0.5 * 64 + 0.25 * 64 + 32);
  CHECK(prefetch(fixture, kRowWise) == 0.5 * 128 / 4 + 0.25 * 16 + 8);
  CHECK(prefetch(fixture, kTableRowWise) == 0.5 * 256 / 2 + 0.25 * 32 + 16);
  CHECK(fixture.perf(kTableWise, kFused).prefetch_compute == Milliseconds());
}

}  // namespace shardwright::estimate_releases_test
