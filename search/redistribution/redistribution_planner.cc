#include "search/redistribution/redistribution_planner.h"

#include <utility>

namespace shardwright::redistribution {

RedistributionPlanner::RedistributionPlanner(TensorOnMesh tensor,
                                             std::shared_ptr<const StepCosts> costs,
                                             const MoveRules& rules, const PathLimits& limits)
    : tensor_(std::move(tensor)), costs_(std::move(costs)), rules_(rules), limits_(limits) {}

const Path& RedistributionPlanner::path(const Placement& source, const Placement& target) {
  const Question question{source.code(), target.code()};
  if (const Path* known = paths_.find(question)) return *known;
  return paths_.keep(question, find_path(tensor_, *costs_, rules_, source, target, limits_));
}

}  // namespace shardwright::redistribution
