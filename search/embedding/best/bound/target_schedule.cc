#include "search/embedding/best/bound/target_schedule.h"

namespace shardwright::embedding {

// Returns false if there is none.
bool TargetSchedule::next_stage(double rating) {
  const BoundTargetParameters& own = parameters_.targets;
  if (stage_ == Stage::kHosts || (stage_ == Stage::kTree && !hosts_may_help_)) return false;
  if (stage_ == Stage::kRoot && was_cut_short_ && root_work_ < own.max_root_work) {
    root_work_ *= own.root_work_growth;
    was_cut_short_ = false;
    ceiling_ = rating;
    return true;
  }
  stage_ = stage_ == Stage::kRoot ? Stage::kTree : Stage::kHosts;
  ceiling_ = 0;
  return true;
}

std::optional<double> TargetSchedule::next(double bound, double rating) {
  const BoundTargetParameters& own = parameters_.targets;
  const double least_step = is_branching() ? own.tree_step : own.root_step;
  if (ceiling_ > rating) {
    ceiling_ = 0;
    if (stage_ == Stage::kHosts) stage_ = Stage::kTree;
  }
  if (ceiling_ != 0 && ceiling_ - bound < least_step * rating && !next_stage(rating)) {
    return std::nullopt;
  }
  if (ceiling_ == 0) return rating * (1 - own.goal_in_gap * parameters_.optimality_gap);
  return (ceiling_ + bound) / 2;
}

}  // namespace shardwright::embedding
