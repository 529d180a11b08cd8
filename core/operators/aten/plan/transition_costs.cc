#include "core/operators/aten/plan/transition_costs.h"

namespace shardwright::operators {

std::vector<double> TransitionCosts::table(const AtenTensor& tensor,
                                           std::span<const redistribution::Placement> sources,
                                           std::span<const redistribution::Placement> targets) {
  std::vector<double> costs;
  costs.reserve(sources.size() * targets.size());
  for (const redistribution::Placement& source : sources) {
    for (const redistribution::Placement& target : targets)
      costs.push_back(microseconds(tensor, source, target));
  }
  return costs;
}

}  // namespace shardwright::operators
