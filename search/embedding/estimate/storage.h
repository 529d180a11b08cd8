// The memory estimate: bytes that one shard takes on its rank.
#pragma once

#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "search/embedding/estimate/inputs.h"

namespace shardwright::embedding {

// Memory of a shard of this extent: weights, optimizer state, cache state, inputs and outputs.
// Errors: kInvalidInput where a byte count exceeds 2^62.
// Source: calculate_shard_storages, torchrec/distributed/planner/shard_estimators.py.
Result<Storage> estimate_storage(const EstimateInputs& in, const ShardExtent& extent);

}  // namespace shardwright::embedding
