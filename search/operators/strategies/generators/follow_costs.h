// The compute cost and memory of operators that follow their input.
#pragma once

#include "search/operators/strategies/families.h"

namespace shardwright::operators::internal {

struct FollowCosts {
  PhaseCost compute = kNominalCompute;
  PhaseMemory memory;
};

// The costs of the strategy under construction. Precondition: all operands are placed.
FollowCosts follow_costs(const OpNode& node, const StrategyWriter& writer);

}  // namespace shardwright::operators::internal
