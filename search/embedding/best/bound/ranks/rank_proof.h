// The proof by a tree over single ranks, beside the other methods.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/ranks/rank_tree.h"
#include "search/embedding/best/bound/work_share.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Plants a tree for the goal and lets it grow, in parts. A better plan lowers the goal of the tree; a
// much better one is worth another tree, in which fewer choices are open.
// Thread safety: one thread at a time. Refers to its arguments.
class RankProof {
 public:
  RankProof(const ChoiceModel& model, const BoundParameters& parameters);

  // Returns true if the tree can grow, or another one is to be planted.
  bool has_next(double goal) const;
  bool is_due(double goal) const { return has_next(goal) && share_.allows(work_of_part()); }
  WorkShare& share() { return share_; }

  struct Answer {
    std::optional<Plan> found;
    std::optional<BoundCertificate> proof;  // of a bound that is better by a step, or of the goal
  };
  // One part. `rows`: of the model. Precondition: has_next().
  Answer run(const BoundRows& rows, double bound, double goal, Budget& budget);

 private:
  std::uint64_t work_of_part() const { return parameters_->ranks.work; }
  void plant(const BoundRows& rows, double goal, Budget& budget);

  const ChoiceModel* model_;
  const BoundParameters* parameters_;
  bool is_possible_;
  WorkShare share_;
  std::unique_ptr<RankTree> tree_;  // null before the first one, or if it would be too large
  double planted_ = std::numeric_limits<double>::infinity();  // the goal
};

}  // namespace shardwright::embedding
