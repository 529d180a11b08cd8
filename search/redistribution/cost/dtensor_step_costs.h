// Steps of one tensor under the rules by which DTensor prices a redistribution.
#pragma once

#include <cstdint>

#include "core/redistribution/cost/collective_costs.h"
#include "search/redistribution/cost/step_costs.h"

namespace shardwright::redistribution {

// The price of each step is dtensor_step(), for the bytes of the tensor divided by its shards. Slices
// and new partial values are free.
// Thread safety: const members may be called from any thread.
class DTensorStepCosts final : public StepCosts {
 public:
  // `bytes`: of the whole tensor. The costs must outlive this; DTensorCosts make it DTensor's own
  // model.
  DTensorStepCosts(const CollectiveCosts& costs, std::int64_t bytes)
      : costs_(costs), bytes_(bytes) {}

  double cost(const PricedMove& step) const override;
  bool is_monotone() const override { return true; }

 private:
  const CollectiveCosts& costs_;
  std::int64_t bytes_;
};

}  // namespace shardwright::redistribution
