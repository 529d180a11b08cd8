// Embedding tables and the user's constraints, not yet checked.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/embedding/problem/kinds.h"
#include "core/json_pointer.h"

namespace shardwright::embedding {

// The ranks allowed for shard number `shard` of a table.
struct ShardRanks {
  std::int64_t shard = 0;
  std::vector<std::int64_t> ranks;
};

// Placement constraints of one table. An absent constraint does not restrict. Replicas and empty
// shards count as shards. A shard must satisfy all constraints that apply to it.
struct TablePlacement {
  std::optional<std::vector<std::int64_t>> ranks;  // allowed for every shard
  std::optional<std::vector<std::int64_t>> hosts;
  std::vector<ShardRanks> shard_ranks;  // no effect on options that lack this shard
  std::optional<std::int64_t> max_shards;
  bool distinct_ranks = false;  // no two shards on one rank

  bool any() const {
    return ranks || hosts || !shard_ranks.empty() || max_shards || distinct_ranks;
  }
};

enum class GroupScope : std::uint8_t { kRank, kHost };

// In keep_together, all shards of all tables share one rank or host. In keep_apart, no two tables
// share a rank or host. A name that occurs in several modules stands for all these tables.
struct TableGroup {
  std::vector<std::string> tables;
  GroupScope on = GroupScope::kRank;
};

// Returns the JSON pointer to the constraints of a table in a problem file.
inline std::string constraints_place(std::string_view table) {
  return "/constraints/" + pointer_token(table);
}

// Expected behaviour of a software-managed cache for one table.
// Source: EmbeddingOffloadStats, torchrec/distributed/planner/shard_estimators.py.
struct CacheStatistics {
  double cacheability = 0;              // area under the miss-ratio curve; dimensionless
  double expected_lookups = 0;          // unique rows per global batch
  std::vector<double> mrc_hist_counts;  // hits by LRU stack distance; bins of equal numbers of rows
  std::int64_t height = 0;              // rows of the table
};

// Cache parameters of a table under a UVM-caching kernel. Source: CacheParams,
// torchrec/distributed/types.py.
struct CacheParams {
  std::optional<CacheAlgorithm> algorithm;
  std::optional<double> load_factor;  // cached rows / rows; the storage estimator reads 0 as 0.2
  std::optional<double> reserved_memory;
  std::optional<DataType> precision;
  std::optional<bool> prefetch_pipeline;
  std::optional<CacheStatistics> stats;
  std::optional<int> prefetch_passes;  // multipass_prefetch_config.num_passes
  // Not in TorchRec: the load factors, each in (0, 1], from which best mode chooses. An empty list
  // stands for kLoadFactorLadder (core/embedding/load_factors.h).
  std::optional<std::vector<double>> load_factors;
};

// Parameters of a table on SSD or a parameter server; only the two sizes that the planner reads.
// Source: KeyValueParams, torchrec/distributed/types.py.
struct KeyValueParams {
  std::optional<std::int64_t> max_l1_cache_size_mib;
  std::optional<std::int64_t> l2_cache_size_gib;
};

// The largest accepted number of lookups per sample and feature, far above real values.
inline constexpr double kMaxPoolingFactor = 1e12;

// The user's constraints on one table. An empty list means "not given".
// Source: ParameterConstraints, torchrec/distributed/planner/types.py.
struct ParameterConstraints {
  std::vector<ShardingType> sharding_types;
  std::vector<ComputeKernel> compute_kernels;
  std::optional<std::int64_t> min_partition;  // columns
  std::vector<double> pooling_factors{1.0};   // lookups per sample, per feature
  std::vector<double> num_poolings;           // per feature
  std::vector<std::int64_t> batch_sizes;      // samples per rank, per feature
  bool is_weighted = false;
  std::optional<CacheParams> cache_params;
  std::optional<bool> enforce_hbm;
  std::optional<bool> stochastic_rounding;
  std::optional<std::string> bounds_check_mode;
  std::vector<std::string> feature_names;
  std::optional<DataType> output_dtype;
  std::optional<std::string> device_group;
  std::optional<KeyValueParams> key_value_params;
  bool use_virtual_table = false;
};

// One embedding table. If `constraints` is absent, TorchRec counts one input, whatever the number
// of features.
struct Table {
  std::string name;
  std::int64_t num_embeddings = 0;  // rows
  std::int64_t embedding_dim = 0;   // columns
  std::vector<std::string> features;
  TableKind kind = TableKind::kPooled;
  bool feature_processed = false;  // the module is a FeatureProcessedEmbeddingBagCollection
  bool tower = false;              // the module is an EmbeddingTower or EmbeddingTowerCollection
  bool weighted = false;
  DataType data_type = DataType::kFp32;
  Pooling pooling = Pooling::kSum;
  std::string module;
  Optimizer optimizer = Optimizer::kUnset;
  // Tables with the same dependency share a host (TorchRec: tables of a tower); empty = none.
  std::string dependency;
  bool use_virtual_table = false;                 // zero-collision hashing
  std::optional<std::int64_t> total_num_buckets;  // rows are split at bucket boundaries
  // Not in TorchRec, read by measured costs alone: a row of popularity k is looked up in proportion
  // to k^-zipf; absent = the problem's.
  std::optional<double> zipf;
  std::optional<ParameterConstraints> constraints;
  TablePlacement placement;  // not in TorchRec; does not affect costs

  // Returns true if `weighted` tells whether lookups have weights, false if constraints tell it.
  bool module_has_weights() const {
    return kind == TableKind::kPooled && !feature_processed && !tower;
  }

  // Returns the fully qualified name, which is unique within a problem.
  std::string fqn() const { return module + "." + name; }

  // Returns true if the constraints assign the table to another device, so that the planner for
  // `device` ignores it. Source: the device_group test of enumerate,
  // torchrec/distributed/planner/enumerators.py.
  bool left_out(ComputeDevice device) const {
    return constraints && !constraints->device_group.value_or("").empty() &&
           *constraints->device_group != to_name(device);
  }
};

}  // namespace shardwright::embedding
