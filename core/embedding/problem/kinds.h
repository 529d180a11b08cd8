// The enumerations of embedding planning, with TorchRec's names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "core/ids.h"

namespace shardwright::embedding {

using TableId = Id<struct TableTag>;
using OptionId = Id<struct OptionTag>;
using Rank = std::uint32_t;

enum class ComputeDevice : std::uint8_t { kCpu, kCuda, kMtia, kTpu };

enum class ShardingType : std::uint8_t {
  kDataParallel,
  kTableWise,
  kColumnWise,
  kRowWise,
  kTableRowWise,
  kTableColumnWise,
  kGridShard,
};

enum class ComputeKernel : std::uint8_t {
  kDense,
  kFused,
  kFusedUvm,
  kFusedUvmCaching,
  kQuant,
  kQuantUvm,
  kQuantUvmCaching,
  kKeyValue,
  kCustomizedKernel,
  kSsdVirtualTable,
  kDramVirtualTable,
  kDramSsdVirtualTable,
  kFusedTriton,
  kUnfusedTpu,
};

// The ranks where a partitioner may place the shards of an option. kDevice: any rank for each
// shard. kHost: ranks of one host; table_row_wise fills the host in rank order, table_column_wise
// picks ranks. kUniform: shard i on rank i, for all ranks. kMultiHost: several hosts, each filled
// in rank order.
enum class PartitionBy : std::uint8_t { kDevice, kHost, kUniform, kMultiHost };

enum class DataType : std::uint8_t {
  kFp32,
  kFp16,
  kBf16,
  kInt64,
  kInt32,
  kInt8,
  kUint8,
  kInt4,
  kInt2,
  kNfp8
};

// The memory tiers of a rank, the fastest first.
enum class MemoryTier : std::uint8_t { kHbm, kDdr, kSsd };

enum class TableKind : std::uint8_t { kPooled, kSequence };

// The TorchRec sharder that shards the module of a table.
enum class SharderKind : std::uint8_t {
  kEmbeddingBag,      // EmbeddingBagCollectionSharder
  kEmbedding,         // EmbeddingCollectionSharder
  kFeatureProcessed,  // FeatureProcessedEmbeddingBagCollectionSharder
  kTower,             // EmbeddingTowerSharder, EmbeddingTowerCollectionSharder
  kQuant,             // BaseQuantEmbeddingSharder
};

// The releases of TorchRec whose planner compat mode reproduces, oldest first.
enum class TorchRecRelease : std::uint8_t { kA48cef79, k1_9_2 };  // NOLINT: reads as the release
enum class Pooling : std::uint8_t { kSum, kMean };
enum class Optimizer : std::uint8_t { kUnset, kSgd, kAdam, kAdagrad, kRowWiseAdagrad, kOther };
enum class PipelineType : std::uint8_t {
  kNone,
  kTrainBase,
  kTrainSparseDist,
  kTrainPrefetchSparseDist
};
// The accelerators of gpus.h.
enum class GpuModel : std::uint8_t {
  kV100,
  kA100With40,
  kA100With80,
  kA10g,
  kL4,
  kL40s,
  kH100,
  kH200,
  kB200,
  kB300,
  kMi300x,
  kMi325x,
  kMi355x,
};

enum class CacheAlgorithm : std::uint8_t { kLru, kLfu };

// The names of an enumeration's values, indexed by value. kWhat names the enumeration in errors.
template <class Enum>
struct EnumNames;

template <>
struct EnumNames<ComputeDevice> {
  static constexpr std::string_view kWhat = "compute device";
  static constexpr std::array<std::string_view, 4> kNames{"cpu", "cuda", "mtia", "tpu"};
};
template <>
struct EnumNames<ShardingType> {
  static constexpr std::string_view kWhat = "sharding type";
  static constexpr std::array<std::string_view, 7> kNames{
      "data_parallel",  "table_wise",        "column_wise", "row_wise",
      "table_row_wise", "table_column_wise", "grid_shard"};
};
template <>
struct EnumNames<ComputeKernel> {
  static constexpr std::string_view kWhat = "compute kernel";
  static constexpr std::array<std::string_view, 14> kNames{"dense",
                                                           "fused",
                                                           "fused_uvm",
                                                           "fused_uvm_caching",
                                                           "quant",
                                                           "quant_uvm",
                                                           "quant_uvm_caching",
                                                           "key_value",
                                                           "customized_kernel",
                                                           "ssd_virtual_table",
                                                           "dram_virtual_table",
                                                           "dram_ssd_virtual_table",
                                                           "fused_triton",
                                                           "unfused_tpu"};
};
template <>
struct EnumNames<PartitionBy> {
  static constexpr std::string_view kWhat = "partition_by";
  static constexpr std::array<std::string_view, 4> kNames{"device", "host", "uniform",
                                                          "multi_host"};
};
template <>
struct EnumNames<DataType> {
  static constexpr std::string_view kWhat = "data type";
  static constexpr std::array<std::string_view, 10> kNames{
      "FP32", "FP16", "BF16", "INT64", "INT32", "INT8", "UINT8", "INT4", "INT2", "NFP8"};
};
template <>
struct EnumNames<MemoryTier> {
  static constexpr std::string_view kWhat = "value";
  static constexpr std::array<std::string_view, 3> kNames{"hbm", "ddr", "ssd"};
};
template <>
struct EnumNames<TableKind> {
  static constexpr std::string_view kWhat = "value";
  static constexpr std::array<std::string_view, 2> kNames{"pooled", "sequence"};
};
template <>
struct EnumNames<TorchRecRelease> {
  static constexpr std::string_view kWhat = "release of TorchRec";
  static constexpr std::array<std::string_view, 2> kNames{"a48cef79", "1.9.2"};
};
template <>
struct EnumNames<Pooling> {
  static constexpr std::string_view kWhat = "value";
  static constexpr std::array<std::string_view, 2> kNames{"SUM", "MEAN"};
};
template <>
struct EnumNames<Optimizer> {
  static constexpr std::string_view kWhat = "value";
  static constexpr std::array<std::string_view, 6> kNames{
      "", "SGD", "Adam", "Adagrad", "RowWiseAdagrad", "other"};
};
template <>
struct EnumNames<PipelineType> {
  static constexpr std::string_view kWhat = "pipeline type";
  static constexpr std::array<std::string_view, 4> kNames{"none", "train_base", "train_sparse_dist",
                                                          "train_prefetch_sparse_dist"};
};
template <>
struct EnumNames<GpuModel> {
  static constexpr std::string_view kWhat = "gpu";
  static constexpr std::array<std::string_view, 13> kNames{
      "v100", "a100-40", "a100-80", "a10g",   "l4",     "l40s",  "h100",
      "h200", "b200",    "b300",    "mi300x", "mi325x", "mi355x"};
};
template <>
struct EnumNames<CacheAlgorithm> {
  static constexpr std::string_view kWhat = "cache algorithm";
  static constexpr std::array<std::string_view, 2> kNames{"LRU", "LFU"};
};

// For readers of text: the name of an enumeration in errors, and the names of its values.
template <class Enum>
constexpr std::string_view what_of(Enum) {
  return EnumNames<Enum>::kWhat;
}
template <class Enum>
constexpr std::span<const std::string_view> names_of(Enum) {
  return EnumNames<Enum>::kNames;
}

template <class Enum>
constexpr std::string_view to_name(Enum value) {
  return EnumNames<Enum>::kNames[static_cast<std::size_t>(value)];
}

// Returns the value with exactly this name, or nullopt.
template <class Enum>
constexpr std::optional<Enum> from_name(std::string_view name) {
  for (std::size_t i = 0; i < EnumNames<Enum>::kNames.size(); ++i) {
    if (EnumNames<Enum>::kNames[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

// The tier's name in texts.
constexpr std::string_view label_of(MemoryTier tier) {
  return std::array<std::string_view, 3>{"HBM", "DDR", "SSD"}[static_cast<std::size_t>(tier)];
}

// Source: get_partition_by_type, torchrec/distributed/planner/enumerators.py.
constexpr PartitionBy partition_by(ShardingType type) {
  switch (type) {
    case ShardingType::kTableWise:
    case ShardingType::kColumnWise:
      return PartitionBy::kDevice;
    case ShardingType::kTableRowWise:
    case ShardingType::kTableColumnWise:
      return PartitionBy::kHost;
    case ShardingType::kRowWise:
    case ShardingType::kDataParallel:
      return PartitionBy::kUniform;
    case ShardingType::kGridShard:
      return PartitionBy::kMultiHost;
  }
  return PartitionBy::kDevice;
}

// Returns the width of a data type in bits. Source: DATA_TYPE_NUM_BITS,
// torchrec/modules/embedding_configs.py, which lacks INT64 and INT32 (no output types in TorchRec).
constexpr int bits(DataType type) {
  switch (type) {
    case DataType::kInt64:
      return 64;
    case DataType::kFp32:
    case DataType::kInt32:
      return 32;
    case DataType::kFp16:
    case DataType::kBf16:
      return 16;
    case DataType::kInt8:
    case DataType::kUint8:
    case DataType::kNfp8:
      return 8;
    case DataType::kInt4:
      return 4;
    case DataType::kInt2:
      return 2;
  }
  return 0;
}

}  // namespace shardwright::embedding
