#include "search/embedding/questions/replan/blend/plan_costs.h"

#include <cmath>
#include <cstddef>

#include "core/units.h"

namespace shardwright::embedding {

bool precedes(const PlanCost& a, const PlanCost& b) {
  constexpr double kEqual = 1e-9;  // relative
  if (a.excess_bytes != b.excess_bytes) return a.excess_bytes < b.excess_bytes;
  const double margin = kEqual * std::abs(b.cost);
  if (a.cost < b.cost - margin) return true;
  return a.cost <= b.cost + margin && a.moved_bytes < b.moved_bytes;
}

double PlanCosts::cost(double rating, std::int64_t moved_bytes) const {
  return rating + weight_ * (static_cast<double>(moved_bytes) / static_cast<double>(kGibibyte));
}

std::int64_t PlanCosts::moved_bytes(const Assignment& to) const {
  return old_->place(to.option->table) == nullptr ? 0 : old_->bytes_to_move(to);
}

std::int64_t PlanCosts::moved_bytes(const Plan& plan) const {
  std::int64_t moved = 0;
  for (std::size_t i = 0; i < plan.size(); ++i)
    moved += moved_bytes(plan[i]);
  return moved;
}

}  // namespace shardwright::embedding
