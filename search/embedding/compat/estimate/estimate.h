// TorchRec's cost model: the time and memory of an option's shards.
#pragma once

#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"
#include "search/embedding/compat/estimate/cost_model.h"

namespace shardwright::embedding {

// TorchRec's estimators for the options of one problem. Holds what is common to all options; cheap
// to copy.
// Thread safety: const members may be called from any thread.
class Estimator final : public CostModel {
 public:
  explicit Estimator(const Problem& problem) : problem_(&problem) {}

  // `option` with is_pooled, is_weighted, batch_size and costs computed from its table, sharding
  // type, kernel, load factor and layout, multiplied by the factors that the user measured for the
  // kernel. Errors: kInvalidInput, naming the table, if a byte count exceeds 2^62 or no bandwidth
  // is known for the kernel on this device.
  // Cost: O(extents) time; allocates only for more than three extents.
  Result<ShardingOption> estimate(ShardingOption option) const override;

 private:
  const Problem* problem_;
};

}  // namespace shardwright::embedding
