// Which targets the trees that divide what uniform choices use try.
#pragma once

#include <cstdint>
#include <limits>

#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Bisection between the proved bound and the lowest target that failed. It begins again whenever
// the proof makes more effort, with more work for a target. A target at which nothing was left to
// divide is not tried again: more work would not help. Thread safety: one thread at a time. Refers
// to its argument.
class UniformTargets {
 public:
  explicit UniformTargets(const UniformTreeParameters& parameters) : parameters_(&parameters) {}

  // Returns true if a target is to be tried. `goal`: the target that would prove the rating
  // optimal. `least_step`: of bisection.
  bool has_next(std::uint32_t effort, double bound, double goal, double least_step) const;
  // Returns false while that target would take these trees more work than all others had: one of
  // those may prove the goal at once.
  bool is_due(std::uint32_t effort) const;
  void note_own_work(std::uint64_t work) { own_work_ += work; }
  void note_other_work(std::uint64_t work) { other_work_ += work; }
  // The others have nothing left to try, or do again.
  void set_others_ended(bool ended) { others_ended_ = ended; }
  // Precondition: has_next().
  double next(std::uint32_t effort, double bound, double goal);
  // Work for the target that was chosen last.
  std::uint64_t work() const { return work_of(effort_); }
  // `is_stuck`: nothing was left to divide. Otherwise there was not enough work.
  void fail(double target, bool is_stuck);

 private:
  std::uint64_t work_of(std::uint32_t effort) const;

  const UniformTreeParameters* parameters_;
  std::uint32_t effort_ = 0;
  double ceiling_ = 0;  // the lowest target that failed with this effort
  double stuck_ = std::numeric_limits<double>::infinity();  // ... with nothing left to divide
  std::uint32_t cut_short_ = 0;                             // targets, with this effort
  std::uint64_t own_work_ = 0;
  std::uint64_t other_work_ = 0;
  bool others_ended_ = false;
};

}  // namespace shardwright::embedding
