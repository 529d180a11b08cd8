// Which plans are asked for.
#pragma once

#include <optional>

#include "core/embedding/moves/held_plan.h"

namespace shardwright::embedding {

struct PlanGoal {
  // A plan must rate less. Without this, any plan counts that evaluate() accepts.
  std::optional<double> below;
  // With an old plan, it is the rating + weight x GiB moved from it that must be less. Borrowed.
  const HeldPlan* held = nullptr;
};

}  // namespace shardwright::embedding
