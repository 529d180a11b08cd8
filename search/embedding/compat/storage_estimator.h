// TorchRec's EmbeddingStorageEstimator: the bytes that one shard takes on its rank.
#pragma once

#include <cstdint>

#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "search/embedding/compat/perf_estimator.h"

namespace shardwright::embedding {

// Returns the memory of a shard: weights, optimizer state, cache state, inputs and outputs. Errors:
// kInvalidInput if a byte count exceeds 2^62.
// Source: calculate_shard_storages, torchrec/distributed/planner/shard_estimators.py.
Result<Storage> estimate_storage(const EstimateInputs& in, const ShardExtent& extent);

// Returns the bytes that replicas of a shard in other sharding groups average: weights, and
// optimizer state if the topology says so.
double synced_bytes(const EstimateInputs& in, const ShardExtent& extent);

// The bytes of a shard's inputs and outputs per step; 0 if they exceed 2^62.
// Source: _calculate_shard_io_sizes, torchrec/distributed/planner/shard_estimators.py.
struct ShardIo {
  std::int64_t input_bytes = 0;
  std::int64_t output_bytes = 0;
};
ShardIo shard_io(const EstimateInputs& in, const ShardExtent& extent);

}  // namespace shardwright::embedding
