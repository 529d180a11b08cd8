// Times, compared with values worked out by hand from TorchRec's formulas. Round bandwidths make
// most of them exact.
#include <doctest/doctest.h>

#include <initializer_list>
#include <optional>
#include <string>

#include "search/embedding/compat/perf_estimator.h"
#include "tests/search/embedding/compat/estimate_fixture.h"

namespace shardwright::estimate_perf_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using shardwright::test_support::EstimateFixture;
using shardwright::test_support::perf_of;
using enum ShardingType;
using enum ComputeKernel;

// Returns the bandwidth of a kernel in bytes per ms. HBM has 1000, DDR 100, their link 10.
std::optional<double> bandwidth(ComputeDevice device, ComputeKernel kernel,
                                std::optional<double> caching_ratio = {}, bool prefetch = false) {
  EstimateFixture fixture;
  fixture.spec.topology.compute_device = device;
  fixture.spec.topology.hbm_mem_bw = 1000;
  fixture.spec.topology.ddr_mem_bw = 100;
  fixture.spec.topology.hbm_to_ddr_mem_bw = 10;
  const Problem problem = Problem::make(fixture.spec).value();
  EstimateInputs in;
  in.problem = &problem;
  in.compute_kernel = kernel;
  in.caching_ratio = caching_ratio;
  in.prefetch_pipeline = prefetch;
  return kernel_bandwidth(in);
}

}  // namespace

TEST_CASE("perf: key-value tables read at the bandwidth of SSD where it is counted") {
  EstimateFixture fixture;
  fixture.spec.torchrec = TorchRecRelease::kA48cef79;
  const auto other = [&] { return fixture.perf(kTableWise, kSsdVirtualTable).fwd_compute.value(); };
  const double before = fixture.perf(kTableWise, kKeyValue).fwd_compute.value();
  fixture.spec.topology.ssd_mem_bw = fixture.spec.topology.hbm_to_ddr_mem_bw / 4;
  CHECK(fixture.perf(kTableWise, kKeyValue).fwd_compute.value() == before);
  fixture.spec.topology.ssd_cap_bytes = 1;
  CHECK(fixture.perf(kTableWise, kKeyValue).fwd_compute.value() == 4 * before);
  CHECK(other() == before);
}

TEST_CASE("perf: kernels read at the bandwidth of the memory that holds their rows") {
  using enum ComputeDevice;
  CHECK(bandwidth(kCuda, kDense) == 500);
  CHECK(bandwidth(kCuda, kFused) == 1000);
  CHECK(bandwidth(kCuda, kFusedUvm) == 1);
  CHECK(bandwidth(kCuda, kFusedUvmCaching) == (0.2 * 1000 + (1 - 0.2) * 10) / 10);
  CHECK(bandwidth(kCuda, kFusedUvmCaching, 0.5) == 50.5);
  CHECK(bandwidth(kCuda, kFusedUvmCaching, 0.0) == 1);  // 0 does not stand for the default here
  CHECK(bandwidth(kCuda, kFusedUvmCaching, 1.0) == 100);
  CHECK(bandwidth(kCuda, kFusedUvmCaching, 0.5, true) == 1000);
  CHECK(bandwidth(kCuda, kQuant) == 1000);
  CHECK(bandwidth(kCuda, kQuantUvm) == 1);
  CHECK(bandwidth(kCuda, kQuantUvmCaching, 0.5) == 50.5);
  CHECK(bandwidth(kCuda, kQuantUvmCaching, 0.5, true) == 50.5);
  for (const ComputeKernel kernel : {kKeyValue, kSsdVirtualTable, kDramVirtualTable}) {
    CHECK(bandwidth(kCuda, kernel) == 10);
    CHECK_FALSE(bandwidth(kCpu, kernel).has_value());
    CHECK_FALSE(bandwidth(kMtia, kernel).has_value());
  }
  CHECK(bandwidth(kCpu, kDense) == 50);
  CHECK(bandwidth(kCpu, kFused) == 100);
  CHECK(bandwidth(kCpu, kQuant) == 100);
  CHECK(bandwidth(kMtia, kDense) == 500);
  CHECK(bandwidth(kMtia, kFused) == 1000);
  CHECK(bandwidth(kMtia, kQuant) == 1000);
  for (const ComputeKernel kernel : {kFusedUvm, kFusedUvmCaching, kQuantUvm, kQuantUvmCaching}) {
    CHECK_FALSE(bandwidth(kCpu, kernel).has_value());
    CHECK_FALSE(bandwidth(kMtia, kernel, {}, true).has_value());
  }
  CHECK_FALSE(bandwidth(kCuda, kCustomizedKernel).has_value());
}

TEST_CASE("perf: a kernel without a known bandwidth is refused with the table's name") {
  EstimateFixture fixture;
  const auto refused = fixture.estimate(kTableWise, kCustomizedKernel);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().message.find("\"wide\"") != std::string::npos);
  CHECK(refused.error().message.find("customized_kernel") != std::string::npos);
}

// A rank has 16 lookups and gets 8 embeddings. The table's rank gets 64 lookups of 8 bytes each,
// reads 64 rows of 512 bytes, and sends 32 embeddings of 512 bytes.
TEST_CASE("perf: table-wise sends the inputs of all ranks to one") {
  EstimateFixture fixture;
  const double fwd = (512.0 + 32768 + 16384) / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(fwd, 256, 2 * fwd, 256));
  CHECK(fwd == 48.5);
}

TEST_CASE("perf: within one host the all-to-all goes at the speed of the host") {
  EstimateFixture fixture;
  fixture.spec.topology.local_world_size = 4;
  CHECK(fixture.perf(kTableWise) == perf_of(48.5, 128, 97, 128));
  CHECK(fixture.perf(kRowWise).fwd_comms.value() == 128);
}

TEST_CASE("perf: narrow shards are charged for partly filled blocks and for at least 32 columns") {
  EstimateFixture fixture;
  fixture.table().embedding_dim = 64;
  const double half = (512.0 + 16384 + 8192) * 1.15 / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(half, 128, half * 2, 128));
  fixture.table().embedding_dim = 60;
  const double quarter = (512.0 + 64 * 60 * 4 + 32 * 60 * 4) * 1.75 / 1024;
  CHECK(fixture.perf(kTableWise).fwd_compute.value() == quarter);
  fixture.table().embedding_dim = 16;
  const double least = (512.0 + 64 * 32 * 4 + 32 * 16 * 4) * 1.75 / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(least, 32, least * 2, 32));
}

TEST_CASE("perf: a column-wise shard costs what a table of its width costs") {
  EstimateFixture narrow;
  narrow.table().embedding_dim = 32;
  const Perf expected = narrow.perf(kTableWise);
  EstimateFixture fixture;
  fixture.constraints().min_partition = 32;
  CHECK(fixture.perf(kColumnWise) == expected);
  CHECK(fixture.perf(kTableColumnWise) == expected);
  CHECK(fixture.estimate(kColumnWise).value().costs.size() == 1);
}

TEST_CASE("perf: row-wise shares the lookups, not the output, and copies the gradients") {
  EstimateFixture fixture;
  const double fwd = (128.0 + 8192 + 16384) / 1024;
  CHECK(fixture.perf(kRowWise) == perf_of(fwd, 256, 2 * fwd, 256 + 16384 * 2.455 / 1024));
  fixture.table().embedding_dim = 16;  // no penalty, at least 32 columns
  const double narrow = (128.0 + 16 * 16 * 4 + 32 * 16 * 4) / 1024;
  CHECK(fixture.perf(kRowWise).fwd_compute.value() == narrow);
}

TEST_CASE("perf: empty row-wise shards cost the time of full ones") {
  EstimateFixture fixture;
  fixture.table().num_embeddings = 5;
  const ShardingOption option = fixture.estimate(kRowWise).value();
  REQUIRE(option.costs.size() == 3);
  CHECK(option.costs[0].perf == option.costs[2].perf);
}

TEST_CASE("perf: table-row-wise and grid reduce within the host and exchange between hosts") {
  EstimateFixture fixture;
  const double fwd = (256.0 + 16384 + 16384) / 1024;
  const double comms = 16384.0 / 128 + 8 * 2 * 128 * 4 / 64.0;
  const Perf expected = perf_of(fwd, comms, 2 * fwd, comms + 16384 * 2.455 / 1024);
  CHECK(comms == 256);
  CHECK(fixture.perf(kTableRowWise) == expected);
  CHECK(fixture.perf(kGridShard) == expected);
  fixture.spec.topology.local_world_size = 4;  // one host exchanges with no other
  const double one_host = (128.0 + 8192 + 16384) / 1024;
  CHECK(fixture.perf(kTableRowWise) ==
        perf_of(one_host, 128, 2 * one_host, 128 + 16384 * 2.455 / 1024));
}

TEST_CASE("perf: data-parallel reads its own batch and reduces the gradients of all ranks") {
  EstimateFixture fixture;
  const double fwd = (128.0 + 8192 + 4096) / 512;
  const double table = 100 * 128 * 4;
  const double two_hosts = table * 3 / 2 / (64.0 * 2);
  CHECK(fixture.perf(kDataParallel, kDense) ==
        perf_of(fwd, 0, 2 * fwd, two_hosts + table * 9.22 / 512));
  fixture.spec.topology.local_world_size = 4;
  const double one_host = table / (64.0 * 4);
  CHECK(fixture.perf(kDataParallel, kDense).bwd_comms.value() == one_host + table * 9.22 / 512);
  fixture.spec.topology.local_world_size = 1;  // one rank per host: twice the traffic of two hosts
  CHECK(fixture.perf(kDataParallel, kDense).bwd_comms.value() ==
        2 * (table * 3 / 2 / 64.0) + table * 9.22 / 512);
}

TEST_CASE("perf: weights double the inputs and add a kernel to the backward pass") {
  EstimateFixture fixture;
  fixture.table().weighted = true;
  fixture.spec.topology.weighted_feature_bwd_compute_multiplier = 1.5;
  const double fwd = (1024.0 + 32768 + 16384) / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(fwd, 256, fwd * 2 * 1.5 + fwd * 1.1, 256));
  const ShardingOption option = fixture.estimate(kTableWise).value();
  CHECK(option.is_weighted);
  CHECK(option.batch_size == 8);
}

TEST_CASE("perf: sequences return one embedding per lookup") {
  EstimateFixture fixture;
  fixture.table().kind = TableKind::kSequence;
  const double fwd = (512.0 + 32768 + 32768) / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(fwd, 512, 2 * fwd, 512));
  // A row-wise shard serves a quarter of the lookups: 4 of each rank.
  const double row_wise = (128.0 + 8192 + 8192) / 1024;
  CHECK(fixture.perf(kRowWise) == perf_of(row_wise, 128, 2 * row_wise, 128 + 8192 * 2.455 / 1024));
  const ShardingOption option = fixture.estimate(kTableWise).value();
  CHECK_FALSE(option.is_pooled);
}

TEST_CASE("perf: inference counts the forward pass only, at first not for rows in a host") {
  EstimateFixture fixture;
  fixture.spec.torchrec = TorchRecRelease::kA48cef79;
  fixture.spec.perf_estimator.is_inference = true;
  CHECK(fixture.perf(kTableWise) == perf_of(48.5, 256, 0, 0));
  CHECK(fixture.perf(kColumnWise) == perf_of(48.5, 256, 0, 0));
  CHECK(fixture.perf(kRowWise) == perf_of(24.125, 256, 0, 0));
  CHECK(fixture.perf(kTableRowWise).bwd_compute.value() > 0);
}

TEST_CASE("perf: codecs set the width of what travels in each direction") {
  EstimateFixture fixture;
  fixture.spec.sharder.pooled_all_to_all = {DataType::kFp16, DataType::kInt8};
  fixture.spec.sharder.pooled_reduce_scatter = {DataType::kInt8, DataType::kFp16};
  fixture.spec.sharder.sequence_all_to_all = {DataType::kFp16, DataType::kFp16};
  const double fwd = (512.0 + 32768 + 8192) / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(fwd, 128, 2 * fwd, 64));
  const Perf rows = fixture.perf(kRowWise);
  CHECK(rows.fwd_comms.value() == 64);
  CHECK(rows.bwd_comms.value() == 128 + 8192 * 2.455 / 1024);
  const Perf host_rows = fixture.perf(kTableRowWise);
  CHECK(host_rows.fwd_comms.value() == 4096.0 / 128 + 8 * 2 * 128 * 2 / 64.0);
  fixture.table().kind = TableKind::kSequence;
  CHECK(fixture.perf(kTableWise).fwd_comms.value() == 256);
}

TEST_CASE("perf: several features add up, each with its own pooling and batch") {
  EstimateFixture fixture;
  fixture.constraints().pooling_factors = {2, 3};
  fixture.constraints().num_poolings = {1, 2};
  fixture.constraints().batch_sizes = {8, 4};
  // 2 x 1 x 8 + 3 x 2 x 4 = 40 lookups, 8 + 8 = 16 embeddings.
  const double fwd = (40.0 * 4 * 8 + 40 * 4 * 512 + 16 * 4 * 512) / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(fwd, 512, 2 * fwd, 512));
}

TEST_CASE("perf: without constraints a table counts one lookup whatever its features") {
  EstimateFixture fixture;
  fixture.table().constraints.reset();
  fixture.table().features = {"f", "g", "h"};
  const double fwd = (256.0 + 16384 + 16384) / 1024;
  CHECK(fixture.perf(kTableWise) == perf_of(fwd, 256, 2 * fwd, 256));
}

TEST_CASE("perf: cache misses are fetched by the ranks that hold the rows") {
  EstimateFixture fixture;
  CacheParams& cache = fixture.constraints().cache_params.emplace();
  cache.load_factor = 0.5;
  cache.prefetch_pipeline = true;
  cache.stats = CacheStatistics{0.3, 64, {1, 1}, 100};
  // A cache of half the rows misses half the lookups. 32 rows of 512 bytes pass a link of 512.
  CHECK(fixture.perf(kTableWise, kFusedUvmCaching).prefetch_compute.value() == 32);
  CHECK(fixture.perf(kRowWise, kFusedUvmCaching).prefetch_compute.value() == 8);
  CHECK(fixture.perf(kTableRowWise, kFusedUvmCaching).prefetch_compute.value() == 16);
  CHECK(fixture.perf(kTableWise, kFused).prefetch_compute.value() == 0);
  CHECK(fixture.perf(kTableWise, kFusedUvmCaching).fwd_compute.value() == 48.5);
}

TEST_CASE("perf: a time that is not finite is refused with the table's name") {
  EstimateFixture fixture;
  fixture.spec.topology.inter_host_bw = 1e-300;
  fixture.constraints().pooling_factors = {1e12};
  fixture.constraints().num_poolings = {1e12};
  const auto refused = fixture.estimate(kTableRowWise);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("\"wide\"") != std::string::npos);
}

TEST_CASE("cache statistics: the miss rate falls bin by bin") {
  const CacheStatistics stats{0.5, 100, {2, 1, 1}, 300};
  CHECK(expected_miss_rate(stats, 1.0) == 0);
  // 150 rows end in the second bin of 100 rows, and 3 of 4 lookups hit.
  CHECK(expected_miss_rate(stats, 0.5) == 0.25);
  // 100 rows cover distances up to 99. With 101 rows, one more bin hits.
  CHECK(expected_miss_rate(stats, 100.0 / 300) == 0.5);
  CHECK(expected_miss_rate(stats, 101.5 / 300) == 0.25);
  CHECK(expected_miss_rate(stats, 0.1) == 0.5);
  // A cache of no rows always misses.
  CHECK(expected_miss_rate(stats, 0.0) == 1);
}

TEST_CASE("cache statistics: a table without lookups never misses") {
  CHECK(expected_miss_rate(CacheStatistics{0.5, 100, {0, 0, 0}, 300}, 0.1) == 0);
}

TEST_CASE("cache statistics: the miss rate never rises with the cache") {
  CacheStatistics stats{0.5, 100, {}, 1000};
  for (int i = 0; i < 37; ++i)
    stats.mrc_hist_counts.push_back(i % 7);
  double before = 1;
  for (int i = 0; i <= 100; ++i) {
    const double rate = expected_miss_rate(stats, i / 100.0);
    CHECK(rate >= 0);
    CHECK(rate <= before);
    before = rate;
  }
}

}  // namespace shardwright::estimate_perf_test
