// Bytes, compared with values worked out by hand from TorchRec's formulas.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "tests/search/embedding/compat/estimate_fixture.h"

namespace shardwright::estimate_storage_test {

namespace {

using namespace shardwright;
using namespace shardwright::embedding;
using shardwright::test_support::EstimateFixture;
using enum ShardingType;
using enum ComputeKernel;

constexpr std::int64_t kWeights = 100 * 128 * 4;
constexpr std::int64_t kInput = 16 * 4 * 8;        // 16 lookups on each of 4 ranks
constexpr std::int64_t kOutput = 8 * 4 * 128 * 4;  // 8 embeddings for each of 4 ranks

}  // namespace

TEST_CASE("storage: a shard holds its part of the weights, its inputs and its outputs") {
  EstimateFixture fixture;
  CHECK(fixture.hbm(kTableWise) == kWeights + kInput + kOutput);
  CHECK(fixture.ddr(kTableWise) == 0);
  fixture.constraints().min_partition = 32;
  CHECK(fixture.hbm(kColumnWise) == kWeights / 4 + kInput + kOutput / 4);
  CHECK(fixture.hbm(kTableColumnWise) == kWeights / 4 + kInput + kOutput / 4);
  // A row-wise shard gets a fourth of the lookups and all outputs. A shard within a host gets half
  // of the lookups.
  CHECK(fixture.hbm(kRowWise) == kWeights / 4 + kInput / 4 + kOutput);
  CHECK(fixture.hbm(kTableRowWise) == kWeights / 2 + kInput / 2 + kOutput);
  CHECK(fixture.hbm(kGridShard) == kWeights / 8 + kInput / 2 + kOutput / 4);
  // A data-parallel shard has the whole table and only the rank's own batch.
  CHECK(fixture.hbm(kDataParallel, kDense) == kWeights + kInput / 4 + kOutput / 4);
}

TEST_CASE("storage: an empty shard has neither inputs nor outputs") {
  EstimateFixture fixture;
  fixture.table().num_embeddings = 5;
  const ShardingOption option = fixture.estimate(kRowWise).value();
  REQUIRE(option.costs.size() == 3);
  CHECK(option.costs[1].storage.hbm.value() == 512 + kInput / 4 + kOutput);
  CHECK(option.costs[2].storage == Storage());
}

TEST_CASE("storage: a fraction of a byte counts as one") {
  EstimateFixture fixture;
  fixture.spec.torchrec = TorchRecRelease::kA48cef79;  // outputs do not depend on the pooling
  fixture.constraints().pooling_factors = {0.3};       // 2.4 lookups per rank, 9.6 in all
  CHECK(fixture.hbm(kTableWise) == kWeights + 77 + kOutput);
}

TEST_CASE("storage: uvm keeps the weights in DDR, a cache keeps a share of them in HBM too") {
  EstimateFixture fixture;
  CHECK(fixture.hbm(kTableWise, kFusedUvm) == kInput + kOutput);
  CHECK(fixture.ddr(kTableWise, kFusedUvm) == kWeights);
  const auto cached = [](double load_factor) {
    return static_cast<std::int64_t>(std::nearbyint(kWeights * load_factor)) +
           static_cast<std::int64_t>(std::ceil(100 * (4 + load_factor * 16)));
  };
  CHECK(fixture.hbm(kTableWise, kFusedUvmCaching) == cached(0.2) + kInput + kOutput);
  CHECK(fixture.ddr(kTableWise, kFusedUvmCaching) == kWeights);
  fixture.constraints().cache_params.emplace().load_factor = 0.5;
  CHECK(fixture.hbm(kTableWise, kFusedUvmCaching) == cached(0.5) + kInput + kOutput);
  fixture.constraints().cache_params->load_factor = 0;  // 0 stands for the default
  CHECK(fixture.hbm(kTableWise, kFusedUvmCaching) == cached(0.2) + kInput + kOutput);
  fixture.constraints().cache_params.reset();
  fixture.spec.sharder.cache_load_factor = 0.25;
  CHECK(fixture.hbm(kTableWise, kFusedUvmCaching) == cached(0.25) + kInput + kOutput);
}

TEST_CASE("storage: optimizer state is a multiple of the weights") {
  EstimateFixture fixture;
  const auto hbm = [&](Optimizer optimizer) {
    fixture.table().optimizer = optimizer;
    return fixture.hbm(kTableWise) - kInput - kOutput;
  };
  CHECK(hbm(Optimizer::kUnset) == kWeights);
  CHECK(hbm(Optimizer::kSgd) == kWeights);
  CHECK(hbm(Optimizer::kAdam) == 3 * kWeights);
  CHECK(hbm(Optimizer::kAdagrad) == 2 * kWeights);
  CHECK(hbm(Optimizer::kRowWiseAdagrad) == kWeights + kWeights / 128);
  CHECK(hbm(Optimizer::kOther) == 2 * kWeights);
}

TEST_CASE("storage: the pipeline decides how many inputs live at once") {
  EstimateFixture fixture;
  auto& estimator = fixture.spec.storage_estimator;
  const std::int64_t uncached = fixture.hbm(kTableWise) - kInput - kOutput;
  const std::int64_t cached = fixture.hbm(kTableWise, kFusedUvmCaching) - kInput - kOutput;
  estimator.pipeline_type = PipelineType::kTrainBase;
  CHECK(fixture.hbm(kTableWise) == uncached + kInput + kOutput);
  estimator.pipeline_type = PipelineType::kTrainSparseDist;
  CHECK(fixture.hbm(kTableWise) == uncached + 2 * kInput);
  estimator.pipeline_type = PipelineType::kTrainPrefetchSparseDist;
  CHECK(fixture.hbm(kTableWise) == uncached + 3 * kInput);
  CHECK(fixture.hbm(kTableWise, kFusedUvmCaching) == cached + 3 * kInput + 7 * kInput);
  fixture.spec.sharder.prefetch_passes = 4;
  CHECK(fixture.hbm(kTableWise, kFusedUvmCaching) == cached + 3 * kInput + kInput * 5 / 2);
  fixture.constraints().cache_params.emplace().prefetch_passes = 2;
  CHECK(fixture.hbm(kTableWise, kFusedUvmCaching) == cached + 3 * kInput + 4 * kInput);
  estimator.run_embedding_at_peak_memory = true;
  CHECK(fixture.hbm(kTableWise) == uncached + 3 * kInput + kOutput);
}

TEST_CASE("storage: inference holds weights alone") {
  EstimateFixture fixture;
  fixture.spec.storage_estimator.is_inference = true;
  fixture.table().optimizer = Optimizer::kAdam;
  CHECK(fixture.hbm(kTableWise) == kWeights);
  fixture.spec.topology.compute_device = ComputeDevice::kCpu;
  CHECK(fixture.hbm(kTableWise) == 0);
  CHECK(fixture.ddr(kTableWise) == kWeights);
}

TEST_CASE("storage: a cpu holds everything in DDR") {
  EstimateFixture fixture;
  fixture.spec.topology.compute_device = ComputeDevice::kCpu;
  CHECK(fixture.hbm(kTableWise) == 0);
  CHECK(fixture.ddr(kTableWise) == kWeights + kInput + kOutput);
  fixture.spec.storage_estimator.pipeline_type = PipelineType::kTrainSparseDist;
  CHECK(fixture.ddr(kTableWise) == kWeights + kInput + kOutput);
}

TEST_CASE("storage: key-value tables pin a cache of at most the share that is cached") {
  EstimateFixture fixture;
  CHECK(fixture.hbm(kTableWise, kKeyValue) == kInput + kOutput);
  CHECK(fixture.ddr(kTableWise, kKeyValue) == 0);
  fixture.constraints().key_value_params.emplace().max_l1_cache_size_mib = 1;
  CHECK(fixture.hbm(kTableWise, kKeyValue) == kWeights / 5 + kInput + kOutput);
  fixture.table().num_embeddings = 100'000;
  CHECK(fixture.hbm(kTableWise, kKeyValue) == kMebibyte + kInput + kOutput);
  // Every row-wise shard takes the fixed amount of a key-value table.
  CHECK(fixture.hbm(kRowWise, kKeyValue) == kMebibyte + kInput / 4 + kOutput);
  fixture.constraints().use_virtual_table = true;
  CHECK(fixture.hbm(kTableWise, kFused) == kMebibyte + kInput + kOutput);
}

TEST_CASE("storage: key-value tables take SSD where it is counted") {
  EstimateFixture fixture;
  const auto ssd = [&](ShardingType type, ComputeKernel kernel = kKeyValue) {
    return fixture.cost(type, kernel).storage.ssd.value();
  };
  CHECK(ssd(kTableWise) == 0);
  fixture.spec.topology.ssd_cap_bytes = 1;
  // The weights, and per row 4 bytes plus 16 bytes for the fifth of the rows that is cached.
  constexpr std::int64_t kState = 720;
  CHECK(ssd(kTableWise) == kWeights + kState);
  CHECK(fixture.hbm(kTableWise, kKeyValue) == kInput + kOutput);
  CHECK(fixture.ddr(kTableWise, kKeyValue) == 0);
  // A column-wise shard has all rows, and a row-wise shard has a quarter of them.
  fixture.constraints().min_partition = 32;
  CHECK(ssd(kColumnWise) == kWeights / 4 + kState);
  CHECK(ssd(kRowWise) == kWeights / 4 + kState / 4);
  fixture.table().optimizer = Optimizer::kAdam;
  CHECK(ssd(kTableWise) == 3 * kWeights + kState);
  fixture.table().optimizer = Optimizer::kRowWiseAdagrad;
  CHECK(ssd(kTableWise) == kWeights + kWeights / 128 + kState);
  fixture.spec.sharder.cache_load_factor = 0.5;
  CHECK(ssd(kTableWise) == kWeights + kWeights / 128 + 1200);
  fixture.spec.storage_estimator.is_inference = true;
  CHECK(ssd(kTableWise) == kWeights);
  for (const ComputeKernel other : {kFused, kFusedUvm, kFusedUvmCaching, kSsdVirtualTable})
    CHECK(ssd(kTableWise, other) == 0);
}

TEST_CASE("storage: outputs have the requested width") {
  EstimateFixture fixture;
  fixture.constraints().output_dtype = DataType::kFp16;
  CHECK(fixture.hbm(kTableWise) == kWeights + kInput + kOutput / 2);
}

TEST_CASE("storage: fractions of huge tables are exact") {
  EstimateFixture fixture;
  fixture.spec.torchrec = TorchRecRelease::kA48cef79;  // outputs do not depend on the pooling
  fixture.table().num_embeddings = (std::int64_t{1} << 45) - 1;
  fixture.constraints().pooling_factors = {0};
  fixture.spec.batch_size = 1;
  fixture.spec.topology.world_size = 3;
  fixture.spec.topology.local_world_size = 3;
  const std::int64_t rows = (fixture.table().num_embeddings + 2) / 3;
  // The product of the sizes exceeds 2^64, and the quotient is rounded to a double.
  CHECK(fixture.hbm(kRowWise) ==
        static_cast<std::int64_t>(static_cast<double>(rows * 512)) + 3 * 512);
}

TEST_CASE("storage: the optimizer's state is exact where a double is not") {
  EstimateFixture fixture;
  Table& table = fixture.table();
  table.num_embeddings = (std::int64_t{1} << 50) - 1;
  table.embedding_dim = 65;
  table.data_type = DataType::kFp16;
  table.optimizer = Optimizer::kAdam;
  const std::int64_t weights = table.num_embeddings * 65 * 2;
  REQUIRE(static_cast<std::int64_t>(static_cast<double>(weights)) != weights);
  CHECK(fixture.hbm(kDataParallel, kDense) == 3 * weights + kInput / 4 + 8 * 65 * 2);
}

TEST_CASE("storage: more than 2^62 bytes are refused with the table's name") {
  EstimateFixture fixture;
  fixture.spec.batch_size = std::int64_t{1} << 40;
  fixture.constraints().pooling_factors = {1e12};
  const auto refused = fixture.estimate(kTableWise);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().code == ErrorCode::kInvalidInput);
  CHECK(refused.error().message.find("\"wide\"") != std::string::npos);
  CHECK(refused.error().message.find("2^62") != std::string::npos);
}

TEST_CASE("storage: a cache of a size that no number is, is refused") {
  for (const double load_factor : {std::numeric_limits<double>::quiet_NaN(), 1e300}) {
    EstimateFixture fixture;
    ShardingOption option = fixture.estimate(kTableWise, kFusedUvmCaching).value();
    option.load_factor = load_factor;
    const auto refused = fixture.estimate(std::move(option));
    REQUIRE_FALSE(refused.ok());
    CHECK(refused.error().message.find("2^62") != std::string::npos);
  }
}

TEST_CASE("storage: shards that exceed 2^62 bytes only together are refused, too") {
  EstimateFixture fixture;
  fixture.spec.batch_size = std::int64_t{1} << 40;
  fixture.constraints().pooling_factors = {2e5};  // 1.8e18 bytes of inputs per replica
  const auto refused = fixture.estimate(kDataParallel, kDense);
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.error().message.find("\"wide\"") != std::string::npos);
}

}  // namespace shardwright::estimate_storage_test
