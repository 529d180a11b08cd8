#include "search/embedding/best/bound/uniform_targets.h"

#include <algorithm>

namespace shardwright::embedding {

bool UniformTargets::has_next(std::uint32_t effort, double bound, double goal,
                              double least_step) const {
  if (effort > effort_) return std::min(stuck_, goal) - bound > least_step;
  return effort_ > 0 && cut_short_ < parameters_->most_cut_short &&
         std::min(ceiling_, goal) - bound > least_step;
}

std::uint64_t UniformTargets::work_of(std::uint32_t effort) const {
  std::uint64_t work = parameters_->work;
  for (std::uint32_t e = 1; e < effort && work < parameters_->most_work; ++e)
    work *= parameters_->work_growth;
  return std::min(work, parameters_->most_work);
}

double UniformTargets::next(std::uint32_t effort, double bound, double goal) {
  if (effort > effort_) {
    effort_ = effort;
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
  } else {
    ++cut_short_;
  }
}

}  // namespace shardwright::embedding
