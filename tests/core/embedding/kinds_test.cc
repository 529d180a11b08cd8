// Enumerations with names: every value has a name, and the name is read as this value.
#include "core/embedding/problem/kinds.h"

#include <doctest/doctest.h>

#include <set>
#include <string_view>

namespace shardwright::kinds_test {

namespace {

using namespace shardwright::embedding;

template <class Enum>
void check_names(Enum last) {
  const auto& names = EnumNames<Enum>::kNames;
  CHECK(static_cast<std::size_t>(last) + 1 == names.size());
  CHECK(std::set<std::string_view>(names.begin(), names.end()).size() == names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto value = static_cast<Enum>(i);
    CHECK(to_name(value) == names[i]);
    CHECK(from_name<Enum>(names[i]) == value);
  }
  CHECK_FALSE(from_name<Enum>("no such name").has_value());
}

}  // namespace

TEST_CASE("kinds: every value has a name of its own that leads back to it") {
  check_names(ComputeDevice::kTpu);
  check_names(ShardingType::kGridShard);
  check_names(ComputeKernel::kUnfusedTpu);
  check_names(TorchRecRelease::k1_9_2);
  check_names(PartitionBy::kMultiHost);
  check_names(DataType::kNfp8);
  check_names(TableKind::kSequence);
  check_names(Pooling::kMean);
  check_names(Optimizer::kOther);
  check_names(PipelineType::kTrainPrefetchSparseDist);
  check_names(CacheAlgorithm::kLfu);
}

TEST_CASE("kinds: names are the peer's") {
  CHECK(to_name(ShardingType::kTableRowWise) == "table_row_wise");
  CHECK(to_name(ComputeKernel::kFusedUvmCaching) == "fused_uvm_caching");
  CHECK(to_name(PartitionBy::kMultiHost) == "multi_host");
  CHECK(to_name(DataType::kBf16) == "BF16");
  CHECK(to_name(PipelineType::kTrainSparseDist) == "train_sparse_dist");
  CHECK_FALSE(from_name<DataType>("fp32").has_value());
}

TEST_CASE("kinds: each sharding type is partitioned as the peer partitions it") {
  CHECK(partition_by(ShardingType::kTableWise) == PartitionBy::kDevice);
  CHECK(partition_by(ShardingType::kColumnWise) == PartitionBy::kDevice);
  CHECK(partition_by(ShardingType::kTableRowWise) == PartitionBy::kHost);
  CHECK(partition_by(ShardingType::kTableColumnWise) == PartitionBy::kHost);
  CHECK(partition_by(ShardingType::kRowWise) == PartitionBy::kUniform);
  CHECK(partition_by(ShardingType::kDataParallel) == PartitionBy::kUniform);
  CHECK(partition_by(ShardingType::kGridShard) == PartitionBy::kMultiHost);
}

TEST_CASE("kinds: data types have their widths") {
  CHECK(bits(DataType::kFp32) == 32);
  CHECK(bits(DataType::kFp16) == 16);
  CHECK(bits(DataType::kInt8) == 8);
  CHECK(bits(DataType::kInt4) == 4);
  CHECK(bits(DataType::kInt2) == 2);
  CHECK(bits(DataType::kNfp8) == 8);
}

}  // namespace shardwright::kinds_test
