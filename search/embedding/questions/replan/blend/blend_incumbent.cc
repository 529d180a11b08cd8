#include "search/embedding/questions/replan/blend/blend_incumbent.h"

#include <utility>

namespace shardwright::embedding {

bool BlendIncumbent::is_better(double cost, std::int64_t moved_bytes) const {
  if (!best_) return true;
  return precedes({0, cost, moved_bytes}, {0, best_->cost, best_->moved_bytes});
}

void BlendIncumbent::consider(const PlanState& state) {
  const PlanLoads& loads = state.loads();
  if (loads.excess_bytes() != 0) return;
  if (is_better(costs_.cost(loads.rating(), state.moved_bytes()), state.moved_bytes()))
    consider(state.plan(copies_));
}

void BlendIncumbent::take(const Plan& plan, bool only_if_better) {
  const std::int64_t moved = costs_.moved_bytes(plan);
  Evaluation evaluation = evaluate(costs_.problem(), costs_.available(), plan);
  const double cost = costs_.cost(evaluation.rating, moved);
  if (!evaluation.valid() || (only_if_better && !is_better(cost, moved))) return;
  best_ = Best{plan, std::move(evaluation), cost, moved};
}

}  // namespace shardwright::embedding
