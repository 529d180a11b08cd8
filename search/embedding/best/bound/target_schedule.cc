#include "search/embedding/best/bound/target_schedule.h"

namespace shardwright::embedding {

std::optional<double> TargetSchedule::next(double bound, double rating) {
  const BoundTargetParameters& own = parameters_.targets;
  const double least_step = is_branching_ ? own.tree_step : own.root_step;
  if (ceiling_ > rating) ceiling_ = 0;
  if (ceiling_ != 0 && ceiling_ - bound < least_step * rating) {
    if (is_branching_) return std::nullopt;
    if (was_cut_short_ && root_work_ < own.max_root_work) {
      root_work_ *= own.root_work_growth;
      was_cut_short_ = false;
      ceiling_ = rating;
    } else {
      is_branching_ = true;
      ceiling_ = 0;
    }
  }
  if (ceiling_ == 0) return rating * (1 - own.goal_in_gap * parameters_.optimality_gap);
  return (ceiling_ + bound) / 2;
}

}  // namespace shardwright::embedding
