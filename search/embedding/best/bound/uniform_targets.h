// Which targets the trees that divide what uniform choices use try.
#pragma once

#include <cstdint>
#include <limits>

#include "search/embedding/best/bound/work_share.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Bisection between the proved bound and the lowest target that failed. It begins again whenever
// the proof makes more effort, with more work for a target. A target at which nothing was left to
// divide is not tried again: more work would not help. But there may be a plan between it and the
// goal, so a few targets follow that are only to suggest one: halfway to the goal, again and again.
// Thread safety: one thread at a time. Refers to its argument.
class UniformTargets {
 public:
  explicit UniformTargets(const UniformTreeParameters& parameters) : parameters_(&parameters) {}

  // Returns true if a target is to be tried. `goal`: the target that would prove the rating
  // optimal. `least_step`: of bisection.
  bool has_next(double bound, double goal, double least_step) const;
  // Returns true if it may begin now. Precondition: has_next().
  bool is_due(double bound, double goal, double least_step) const;
  WorkShare& share() { return share_; }
  // Precondition: has_next().
  double next(double bound, double goal, double least_step);
  // Returns true if the target that was chosen last is only to suggest a plan.
  bool is_suggesting() const { return is_suggesting_; }
  // Work for the target that was chosen last.
  std::uint64_t work() const { return work_of(effort_); }
  // `is_stuck`: nothing was left to divide. Otherwise there was not enough work. Precondition: it
  // was not to suggest a plan only.
  void fail(double target, bool is_stuck);

 private:
  std::uint64_t work_of(std::uint32_t effort) const;
  bool suggests(double goal, double least_step) const;
  bool goes_on(double bound, double goal, double least_step) const;

  const UniformTreeParameters* parameters_;
  std::uint32_t effort_ = 0;
  double ceiling_ = 0;  // the lowest target that failed with this effort
  double stuck_ = std::numeric_limits<double>::infinity();  // ... with nothing left to divide
  std::uint32_t cut_short_ = 0;                             // targets, with this effort
  WorkShare share_;
  bool is_suggesting_ = false;
  std::uint32_t suggestions_left_ = 0;
  double suggested_ = 0;  // the last such target, or the one before them
};

}  // namespace shardwright::embedding
