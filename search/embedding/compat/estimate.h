// The interface of cost models, which say what the shards of an option cost.
#pragma once

#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"

namespace shardwright::embedding {

// Says how much memory and time the shards of an option take. Estimator is TorchRec's model. A
// caller's model may call it and replace the costs that were measured.
// Thread safety: estimate() is called from many threads at once.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // Returns `option`, whose table, sharding type, kernel, load factor and layout are given, with
  // batch_size, is_pooled, is_weighted and one cost per extent of the layout. An error ends the
  // enumeration and reaches its caller.
  virtual Result<ShardingOption> estimate(ShardingOption option) const = 0;
};

// Upper limit of the bytes of all shards of one option, so that totals over all tables and ranks
// stay exact.
inline constexpr double kMaxTotalBytes = 4611686018427387904.0;  // 2^62

// Checks what the search relies on: one cost per extent, bytes and times finite and not negative,
// sums of bytes below 2^62. Errors: kInvalidInput.
Status check_costs(const ShardingOption& option);

// TorchRec's estimators for the options of one problem. Holds what is common to all options; cheap
// to copy.
// Thread safety: const members may be called from any thread.
class Estimator final : public CostModel {
 public:
  explicit Estimator(const Problem& problem) : problem_(&problem) {}

  // Returns `option` with is_pooled, is_weighted, batch_size and costs computed from its table,
  // sharding type, kernel, load factor and layout, multiplied by the factors that the user measured
  // for the kernel. Errors: kInvalidInput, naming the table, if a byte count exceeds 2^62 or no
  // bandwidth is known for the kernel on this device.
  // Cost: O(extents) time; allocates only for more than three extents.
  Result<ShardingOption> estimate(ShardingOption option) const override;

 private:
  const Problem* problem_;
};

}  // namespace shardwright::embedding
