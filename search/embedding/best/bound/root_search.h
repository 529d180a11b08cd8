// All plans below a target, tried at the root of the proof.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/relaxation/node_search.h"
#include "search/embedding/best/bound/shared/tree_view.h"
#include "search/embedding/best/bound/work_share.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// The domain is reduced first; then core's search tries what is left. It ends soon where few plans
// are nearly as good, which no relaxation sees, and a tree would repeat it in each of its nodes.
// The lower the target, the fewer steps it takes. The goal, which would prove the rating optimal,
// comes first, and then bisection between the bound and the goal until a target fails; then
// everything again with several times the steps. With the most steps there is only bisection, below
// the lowest target that failed. Where the bound is near the goal, only the goal is tried. A plan
// that is found on the way lowers the target of its search.
// A search pauses after some steps, so that its lane does not hold up the others.
// Thread safety: one thread at a time. Refers to its argument.
class RootSearch {
 public:
  explicit RootSearch(const BoundParameters& parameters)
      : parameters_(&parameters), steps_(parameters.search.first_root_steps) {}

  // Returns true if some target is to be tried, or tried again with more steps. Precondition here
  // and below: the bound is below the goal.
  bool has_next(double bound, double goal) const;
  bool is_due(double bound, double goal) const {
    return has_next(bound, goal) && share_.allows(parameters_->search.step_work * steps_);
  }
  WorkShare& share() { return share_; }

  // A target is being tried, and the search pauses. The view must not change meanwhile.
  bool is_running() const { return search_.has_value(); }

  struct Answer {
    std::optional<Plan> found;     // below the target
    double proved = 0;             // a target, not above the one that was tried; 0 if none
    std::vector<BoundNode> proof;  // the certificate's nodes for it
  };
  // Begins with a target, or goes on. The answer is empty until the search ends. Precondition:
  // has_next() or is_running().
  Answer step(const TreeView& view, double bound, double goal, Budget& budget);

 private:
  // A target, with the bound and the goal when it was chosen.
  struct Try {
    double target = 0;
    double bound = 0;
    double goal = 0;
  };

  Answer begin(const TreeView& view, Budget& budget);
  Answer proof_of(const TreeView& view, SearchedNode node) const;
  bool has_most_steps() const { return steps_ >= parameters_->search.proof_steps; }
  double ceiling(double bound, double goal) const;
  bool are_near(double bound, double ceiling, double goal) const;
  double next_target(double bound, double goal) const;
  void fail();

  const BoundParameters* parameters_;
  WorkShare share_;
  std::uint64_t steps_;               // for a target
  Try try_;                           // the last one
  MultiplierList fixing_;             // of its domain
  std::optional<NodeSearch> search_;  // while it runs
  // The lowest goal that was tried in vain, and the lowest target, with these steps.
  double goal_failed_ = std::numeric_limits<double>::infinity();
  double failed_ = std::numeric_limits<double>::infinity();
};

}  // namespace shardwright::embedding
