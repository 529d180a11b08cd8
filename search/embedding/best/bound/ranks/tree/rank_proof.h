// The proof by a tree over single ranks, beside the other methods.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/ranks/tree/rank_tree.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Plants a tree for the goal and lets it grow, in rounds. When its divisions have shown what they
// gain, it is planted anew, with that experience. A better plan lowers the goal of the tree; a much
// better one is worth another tree, in which fewer choices are open. Only the first lane works in
// the round in which one is planted. Thread safety: run_lane() may be called
// concurrently for different lanes, and with other methods; everything else by one thread at a
// time. Refers to its arguments.
class RankProof {
 public:
  RankProof(const ChoiceModel& model, const BoundParameters& parameters);

  // Returns true if the tree can grow, or another one is to be planted.
  bool has_next(double goal) const;

  // What others have proved, and the target that would prove the rating optimal.
  void begin_round(double bound, double goal);
  // That have work in this round: the first ones.
  std::size_t num_busy_lanes() const { return num_busy_; }
  // Does about so much work, once in a round. `rows`: of the model.
  void run_lane(std::size_t lane, const BoundRows& rows, std::uint64_t work, Budget& budget);
  void end_round();

  // Returns true unless the tree is behind: others have proved more than its open nodes show.
  bool is_ahead() const { return !tree_ || tree_bound_ >= bound_; }
  // Returns true if the tree is what may prove the goal: its check is not too long yet, and its
  // open nodes show half of what others left open, or it has got on in the second half of its work.
  bool is_rising() const;
  // What the last round found: a plan below the goal, and a bound that is better by a step, or the
  // goal.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }
  std::optional<BoundCertificate> take_proof() { return std::exchange(proof_, std::nullopt); }
  // Returns true if the check of that proof takes longer than it may after a stop: one of the goal.
  bool is_long() const { return is_long_; }

 private:
  // How far a tree was.
  struct Progress {
    std::uint64_t work = 0;
    double bound = 0;
    double open_part = 1;
  };

  bool is_to_be_planted(double goal) const {
    return is_possible_ && goal < planted_ * (1 - parameters_->ranks.replant_fall);
  }
  bool is_step(double bound, double step) const;
  void note_progress(double step);
  // A tree of its size has told which divisions gain most.
  bool has_learned() const {
    return is_trial_ && is_growing() && tree_->num_nodes() >= parameters_->ranks.trial_nodes;
  }
  bool is_growing() const { return tree_ && !tree_->has_ended(); }
  void plant(const BoundRows& rows, Budget& budget);

  const ChoiceModel* model_;
  const BoundParameters* parameters_;
  bool is_possible_;
  double bound_ = 0;
  std::atomic<std::uint64_t> work_ = 0;  // of this tree
  Progress progress_;                    // when it last got on
  bool is_trial_ = false;                // the first one for its goal
  bool plants_ = false;                  // in this round
  std::size_t num_busy_ = 0;
  double tree_bound_ = 0;
  double goal_ = std::numeric_limits<double>::infinity();
  std::optional<Plan> found_;
  std::optional<BoundCertificate> proof_;
  bool is_long_ = false;
  std::unique_ptr<RankTree> tree_;  // null before the first one, or if it would be too large
  double planted_ = std::numeric_limits<double>::infinity();  // the goal
};

}  // namespace shardwright::embedding
