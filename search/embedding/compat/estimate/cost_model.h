// The interface of cost models: what the shards of an option take.
#pragma once

#include "core/embedding/sharding_option.h"
#include "core/status.h"

namespace shardwright::embedding {

// Says what memory and time the shards of options of one problem take. The Estimator is the model
// of TorchRec; a model of one's own may ask it and change what was measured otherwise.
// Thread safety: estimate() is called from many threads at once.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // `option`, whose table, sharding type, kernel, load factor and layout are given, with
  // batch_size, is_pooled, is_weighted and one cost per extent of the layout. An error ends the
  // enumeration and reaches its caller.
  virtual Result<ShardingOption> estimate(ShardingOption option) const = 0;
};

// Upper limit of the bytes of all shards of one option: totals over all tables and ranks must stay exact, too.
inline constexpr double kMaxTotalBytes = 4611686018427387904.0;  // 2^62

// What the search relies on: one cost per extent, bytes and times finite and not negative, and sums
// of bytes below 2^62. Errors: kInvalidInput.
Status check_costs(const ShardingOption& option);

}  // namespace shardwright::embedding
