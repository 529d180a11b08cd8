// Hardware-specific coefficients of TorchRec 1.9.2's time estimates.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/problem/kinds.h"

namespace shardwright::embedding {

// Multipliers of the bytes that a pass moves. `hash_size` multiplies the rows of a shard.
// Source: PerfCoefficient, torchrec/distributed/planner/estimator/types.py of TorchRec 1.9.2.
struct PerfCoefficients {
  double input_read_size = 1;
  double lookup_size = 1;
  double embedding_output = 1;
  double hash_size = 0;
};

// Without `bwd`, the backward pass takes a multiple of the time of the forward pass.
struct PassCoefficients {
  PerfCoefficients fwd;
  std::optional<PerfCoefficients> bwd;
};

// Milliseconds per lookup, per distinct lookup and per fetched element.
struct PrefetchCoefficients {
  double expected_num_lookups = 0;
  double expected_num_unique_lookups = 0;
  double expected_size_cache_fetches = 0;
};

// Absent values are those of the topology or of TorchRec. Source: HardwarePerfConfig and
// PerfCoefficientConfig, torchrec/distributed/planner/estimator/types.py of TorchRec 1.9.2.
struct HardwarePerfConfig {
  struct KernelCoefficients {
    ShardingType type = ShardingType::kTableWise;
    ComputeKernel kernel = ComputeKernel::kFused;
    PassCoefficients coefficients;
  };

  // Indexed by ShardingType. table_column_wise uses the entry of column_wise, and grid_shard the
  // entry of table_row_wise.
  std::array<std::optional<PassCoefficients>, EnumNames<ShardingType>::kNames.size()> by_type;
  std::vector<KernelCoefficients> by_kernel;  // take precedence over by_type
  std::optional<PrefetchCoefficients> prefetch;
  double weighted_kernel_multiplier = 1.1;
  std::optional<double> bwd_compute_multiplier;
  std::optional<double> weighted_feature_bwd_compute_multiplier;
  // Bytes per millisecond. The bandwidth of a kernel takes precedence over `device_bw`.
  std::optional<double> device_bw;
  std::vector<std::pair<ComputeKernel, double>> kernel_device_bandwidths;
  std::optional<double> hbm_to_ddr_mem_bw;      // used for prefetching only
  std::optional<bool> use_min_dim_for_lookup;   // at least 32 columns; true for whole columns
  std::optional<bool> use_block_usage_penalty;  // true for table- and column-wise types
  bool use_bytes_for_input_read_size = true;    // for table- and column-wise types
  double input_data_type_size = 8;              // bytes
  std::vector<ShardingType> supported_sharding_types;  // empty = all

  PassCoefficients coefficients(ShardingType type, ComputeKernel kernel) const {
    for (const KernelCoefficients& own : by_kernel) {
      if (own.type == type && own.kernel == kernel) return own.coefficients;
    }
    if (type == ShardingType::kTableColumnWise) type = ShardingType::kColumnWise;
    if (type == ShardingType::kGridShard) type = ShardingType::kTableRowWise;
    return by_type[static_cast<std::size_t>(type)].value_or(PassCoefficients());
  }
};

}  // namespace shardwright::embedding
