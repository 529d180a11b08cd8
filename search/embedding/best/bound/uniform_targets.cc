#include "search/embedding/best/bound/uniform_targets.h"

#include <algorithm>

namespace shardwright::embedding {

bool UniformTargets::has_next(double bound, double goal, double least_step) const {
  if (suggests(goal, least_step) || goes_on(bound, goal, least_step)) return true;
  return work_of(effort_) < parameters_->most_work &&
         std::min(stuck_, goal) - bound > least_step;
}

bool UniformTargets::is_due(double bound, double goal, double least_step) const {
  const bool is_same = suggests(goal, least_step) || goes_on(bound, goal, least_step);
  return share_.allows(work_of(is_same ? effort_ : effort_ + 1));
}

// With the same effort.
bool UniformTargets::goes_on(double bound, double goal, double least_step) const {
  return effort_ > 0 && cut_short_ < parameters_->most_cut_short &&
         std::min(ceiling_, goal) - bound > least_step;
}

bool UniformTargets::suggests(double goal, double least_step) const {
  return suggestions_left_ > 0 && goal - stuck_ > least_step;
}

std::uint64_t UniformTargets::work_of(std::uint32_t effort) const {
  std::uint64_t work = parameters_->work;
  for (std::uint32_t e = 1; e < effort && work < parameters_->most_work; ++e)
    work *= parameters_->work_growth;
  return std::min(work, parameters_->most_work);
}

double UniformTargets::next(double bound, double goal, double least_step) {
  is_suggesting_ = suggests(goal, least_step);
  if (is_suggesting_) {
    --suggestions_left_;
    // A plan below the last target is a new goal.
    if (suggested_ >= goal) suggested_ = stuck_;
    return suggested_ = (suggested_ + goal) / 2;
  }
  if (!goes_on(bound, goal, least_step)) {
    ++effort_;
    ceiling_ = stuck_;
    cut_short_ = 0;
  }
  ceiling_ = std::min(ceiling_, goal);
  return (bound + ceiling_) / 2;
}

void UniformTargets::fail(double target, bool is_stuck) {
  ceiling_ = target;
  if (is_stuck) {
    stuck_ = target;
    suggested_ = target;
    suggestions_left_ = parameters_->suggestions;
  } else {
    ++cut_short_;
  }
}

}  // namespace shardwright::embedding
