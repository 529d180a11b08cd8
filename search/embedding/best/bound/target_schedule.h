// Which target the prover tries next.
#pragma once

#include <cstdint>
#include <optional>

#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Bisection between the proved bound and the best rating. The first target would prove the rating
// optimal. A target that fails becomes the ceiling, and the next one lies halfway between the bound
// and the ceiling. When the two are close, the root node is asked again with more work if a
// question was cut short. After that everything starts again with branching, and ends when the
// bound and the ceiling are close once more.
// Thread safety: one thread at a time. Refers to its arguments.
class TargetSchedule {
 public:
  explicit TargetSchedule(const BoundParameters& parameters)
      : parameters_(parameters), root_work_(parameters.targets.root_work) {}

  // Empty when nothing is left to try. Precondition: bound < rating.
  std::optional<double> next(double bound, double rating);
  void fail(double target) { ceiling_ = target; }
  void note_cut_short() { was_cut_short_ = true; }

  // Nodes that the relaxation does not exclude are divided.
  bool is_branching() const { return is_branching_; }
  // Work for the relaxation of a node.
  std::uint64_t node_work() const {
    return is_branching_ ? parameters_.targets.node_work : root_work_;
  }

 private:
  const BoundParameters& parameters_;
  bool is_branching_ = false;
  bool was_cut_short_ = false;  // a question, for lack of work
  std::uint64_t root_work_;
  double ceiling_ = 0;  // a target that failed; 0 = none
};

}  // namespace shardwright::embedding
