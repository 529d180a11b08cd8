// The proof by a tree over single ranks, beside the other methods.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/ranks/rank_tree.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Plants a tree for the goal and lets it grow, in parts. A better plan lowers the goal of the tree;
// a much better one is worth another tree, in which fewer choices are open.
// Thread safety: one thread at a time, which may be another one than that of other methods. Refers
// to its arguments.
class RankProof {
 public:
  RankProof(const ChoiceModel& model, const BoundParameters& parameters);

  // Returns true if the tree can grow, or another one is to be planted.
  bool has_next(double goal) const;

  // What others have proved, and the target that would prove the rating optimal.
  void begin_round(double bound, double goal) {
    bound_ = bound;
    goal_ = goal;
  }
  // Does about so much work. `rows`: of the model.
  void run(const BoundRows& rows, std::uint64_t work, Budget& budget);
  // Returns true unless the tree is behind: others have proved more than its open nodes show.
  bool is_ahead() const { return !tree_ || tree_bound_ >= bound_; }
  // What the last round found: a plan below the goal, and a bound that is better by a step, or the
  // goal.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }
  std::optional<BoundCertificate> take_proof() { return std::exchange(proof_, std::nullopt); }

 private:
  void plant(const BoundRows& rows, Budget& budget);

  const ChoiceModel* model_;
  const BoundParameters* parameters_;
  bool is_possible_;
  double bound_ = 0;
  double tree_bound_ = 0;
  double goal_ = std::numeric_limits<double>::infinity();
  std::optional<Plan> found_;
  std::optional<BoundCertificate> proof_;
  std::unique_ptr<RankTree> tree_;  // null before the first one, or if it would be too large
  double planted_ = std::numeric_limits<double>::infinity();  // the goal
};

}  // namespace shardwright::embedding
