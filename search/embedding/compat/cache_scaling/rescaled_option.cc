#include "search/embedding/compat/cache_scaling/rescaled_option.h"

#include <utility>

namespace shardwright::embedding {

Result<ShardingOption> with_load_factor(const ShardingOption& cached,
                                        std::optional<double> load_factor, const CostModel& model) {
  ShardingOption changed = cached;
  changed.load_factor = load_factor;
  return model.estimate(std::move(changed));
}

Result<ShardingOption> in_plain_hbm(const ShardingOption& cached, const CostModel& model) {
  ShardingOption changed = cached;
  changed.load_factor.reset();
  changed.compute_kernel = ComputeKernel::kFused;
  return model.estimate(std::move(changed));
}

}  // namespace shardwright::embedding
