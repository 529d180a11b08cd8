// TorchRec's EmbeddingPerfEstimator.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Bytes of an index, and of a weight, per lookup. Source: BIGINT_DTYPE,
// torchrec/distributed/planner/constants.py.
inline constexpr double kInputDataTypeSize = 8;
// Source: UVM_CACHING_RATIO and KV_CACHING_RATIO, torchrec/distributed/planner/constants.py.
inline constexpr double kDefaultCachingRatio = 0.2;

// Sizes of the local batch of one rank, summed over the features in order.
struct BatchSizes {
  double inputs = 0;   // lookups
  double outputs = 0;  // embeddings returned; equal to `inputs` without pooling
  double bags = 0;     // of pooled tables, also those without a lookup
};

// The inputs of an estimate, except the shard. *_data_type_size: bytes per element.
struct EstimateInputs {
  const Problem* problem = nullptr;
  const Table* table = nullptr;
  ShardingType sharding_type = ShardingType::kTableWise;
  ComputeKernel compute_kernel = ComputeKernel::kFused;
  bool is_pooled = true;
  bool is_weighted = false;
  BatchSizes batch;
  double rows = 0;
  double columns = 0;
  std::int64_t tensor_bytes = 0;
  int table_data_type_size = 4;
  double output_data_type_size = 4;
  double fwd_a2a_data_type_size = 4;
  double bwd_a2a_data_type_size = 4;
  double fwd_sr_data_type_size = 4;
  double bwd_sr_data_type_size = 4;
  std::optional<double> caching_ratio;  // of the table, or else of the sharder
  bool prefetch_pipeline = false;
  double expected_cache_fetches = 0;
  // Distinct lookups per step; absent without cache statistics.
  std::optional<double> expected_unique_lookups;
  // Of an average rank's all-to-all, which decides on which side of the knee a measured collective
  // is.
  double message_bytes = 0;
  const HardwarePerfConfig* hardware = nullptr;  // null = TorchRec's default
};

EstimateInputs estimate_inputs(const Problem& problem, const ShardingOption& option);

// Returns the expected fraction of lookups that miss a cache of `load_factor` x height rows.
// Source: EmbeddingOffloadStats.estimate_cache_miss_rate, torchrec/distributed/planner/
// shard_estimators.py, in single precision like the source.
double expected_miss_rate(const CacheStatistics& stats, double load_factor);

// Returns the bytes per millisecond at which a kernel reads embeddings on the problem's device,
// from the hardware's configuration or else from the topology. Empty if TorchRec knows no bandwidth
// for this kernel and device. Source: kernel_bw_lookup, torchrec/distributed/planner/constants.py.
std::optional<double> kernel_bandwidth(const EstimateInputs& in);

// Returns the times of a shard of `rows` x `columns`. `bandwidth`: see kernel_bandwidth(). Measured
// costs of the problem's machine take the place of TorchRec's.
// Floating-point operations are in the order of the source.
// Source: EmbeddingPerfEstimator.perf_func_emb_wall_time, torchrec/distributed/planner/
// shard_estimators.py at commit a48cef79; the evaluators of torchrec/distributed/planner/estimator/
// estimator.py of TorchRec 1.9.2.
Perf estimate_perf(const EstimateInputs& in, double bandwidth, std::int64_t rows,
                   std::int64_t columns);

// Returns the time of sending a shard its indices, which estimate_perf() does not include.
// Source: _default_input_dist_comms, torchrec/distributed/planner/estimator/estimator.py of
// TorchRec 1.9.2.
Milliseconds estimate_input_dist(const EstimateInputs& in);

// Returns the time per step of averaging a shard over its replicas in other sharding groups; 0
// without replicas. Tables outside HBM pass the link between host and device, or the link to SSD.
Milliseconds estimate_sync(const EstimateInputs& in, const ShardExtent& extent);

}  // namespace shardwright::embedding
