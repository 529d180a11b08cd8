// Cost models, which estimate the memory and time of shards.
#pragma once

#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"

namespace shardwright::embedding {

// Estimates the memory and time of the shards of an option. Estimator is TorchRec's model. A
// caller's model may call Estimator and replace some of its costs.
// Thread safety: estimate() is called from many threads at once.
class CostModel {
 public:
  virtual ~CostModel() = default;

  // Returns `option` with batch_size, is_pooled, is_weighted and one cost per extent of the layout.
  // Table, sharding type, kernel, load factor and layout of `option` are set. An error ends the
  // enumeration and reaches its caller.
  virtual Result<ShardingOption> estimate(ShardingOption option) const = 0;
};

// Upper limit of the bytes of an option, so that totals over all tables and ranks stay exact.
inline constexpr double kMaxTotalBytes = 4611686018427387904.0;  // 2^62

// Checks what the search relies on: one cost per extent, bytes and times finite and not negative,
// sums of bytes below 2^62. Errors: kInvalidInput.
Status check_costs(const ShardingOption& option);

// TorchRec's estimators for the options of one problem, with the measured costs of its machine.
// Refers to the problem. Thread safety: const members may be called from any thread.
class Estimator final : public CostModel {
 public:
  explicit Estimator(const Problem& problem);

  // As CostModel::estimate(). Costs are multiplied by the factors that the user measured for the
  // kernel. Errors: kInvalidInput, naming the table, if a byte count exceeds 2^62 or no bandwidth
  // is known for the kernel on this device.
  // Cost: O(extents) time; allocates only for more than three extents.
  Result<ShardingOption> estimate(ShardingOption option) const override;

 private:
  const Problem* problem_;
  double message_bytes_ = 0;
};

}  // namespace shardwright::embedding
