#include "search/embedding/best/bound/target_schedule.h"

#include <algorithm>
#include <utility>

namespace shardwright::embedding {

// Returns false if there is none.
bool TargetSchedule::next_stage(double rating) {
  const BoundTargetParameters& own = parameters_.targets;
  if (was_cut_short_ && stage_ == Stage::kRoot && root_work_ < own.max_root_work) {
    root_work_ *= own.root_work_growth;
    was_cut_short_ = false;
    ceiling_ = rating;
    ++effort_;
    return true;
  }
  if (was_cut_short_ && is_branching() && tree_work_ < own.max_tree_work) {
    tree_work_ *= own.tree_work_growth;
    was_cut_short_ = false;
    ceiling_ = 0;
    ++effort_;
    return true;
  }
  was_cut_short_ = false;
  if (stage_ == Stage::kHosts || (stage_ == Stage::kTree && !hosts_may_help_)) return false;
  tree_work_ = own.tree_work;
  stage_ = stage_ == Stage::kRoot ? Stage::kTree : Stage::kHosts;
  ceiling_ = 0;
  ++effort_;
  return true;
}

void TargetSchedule::begin_again() {
  ceiling_ = 0;
  wants_early_ = stage_ == Stage::kRoot;
  if (stage_ == Stage::kHosts) stage_ = Stage::kTree;
}

void TargetSchedule::fail(double target) {
  if (!is_early_) ceiling_ = target;
}

std::optional<double> TargetSchedule::next(double bound, double rating) {
  const BoundTargetParameters& own = parameters_.targets;
  is_early_ = std::exchange(wants_early_, false);
  if (is_early_) {
    effort_ = std::max(effort_, 1U);
    return goal(rating);
  }
  const double least_step = !is_branching()  ? own.root_step
                            : was_cut_short_ ? own.cut_tree_step
                                             : own.tree_step;
  if (ceiling_ > rating) begin_again();
  if (ceiling_ != 0 && ceiling_ - bound < least_step * rating) {
    if (ceiling_ == rating) return goal(rating);  // nothing failed with the present work
    if (!next_stage(rating)) return std::nullopt;
  }
  if (ceiling_ == 0) return goal(rating);
  return (ceiling_ + bound) / 2;
}

}  // namespace shardwright::embedding
