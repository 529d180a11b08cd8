// All plans below the goal, tried at the root of the proof.
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
// Two short tries show how fast it gets on. If it may end, the third has all steps of a proof;
// otherwise this goal is given up. Thread safety: one thread at a time. Refers to its argument.
class RootSearch {
 public:
  explicit RootSearch(const BoundParameters& parameters) : parameters_(&parameters) {}

  // Returns true if the goal is to be tried, or tried again with more steps.
  bool has_next(double goal) const { return goal < ended_; }
  // What the last try takes beyond a short one counts before the next goal.
  bool is_due(double goal) const {
    return has_next(goal) &&
           share_.allows(parameters_->search.step_work * parameters_->search.first_root_steps);
  }
  WorkShare& share() { return share_; }

  struct Answer {
    std::optional<Plan> found;     // below the goal
    std::vector<BoundNode> proof;  // the certificate's nodes, if there is no such plan
  };
  // Neither a plan nor a proof if the search gave up. Precondition: has_next().
  Answer run(const TreeView& view, double goal, Budget& budget);

 private:
  struct Try {
    std::uint64_t steps = 0;
    double progress = 0;
  };

  std::uint64_t next_steps(double goal) const;
  void note_failure(double goal, const Try& own);
  bool may_end(const Try& own) const;

  const BoundParameters* parameters_;
  WorkShare share_;
  double ended_ = std::numeric_limits<double>::infinity();  // only lower goals are to be tried
  double goal_ = 0;                                         // of the last try
  Try last_;
};

}  // namespace shardwright::embedding
