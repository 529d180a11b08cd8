// Branch and price: the schedule of targets, and trees with column generation that prove them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/proof.h"

namespace shardwright::embedding {

// The order of targets. A small tree for the goal comes first; the goal is the target that would
// prove the rating optimal. Three stages follow: the root node alone, trees, and trees in which
// every host is a rank class. Each stage starts with the goal and continues by bisection: a target
// that fails becomes the ceiling, and the next target lies halfway between the proved bound and the
// ceiling. When bound and ceiling are close, the stage repeats with more work if a target ran out
// of work (the root stage then tries the goal last); otherwise the next stage begins. Trees have
// little work at first, since the tree of a far target may be too large to end. Trees of the last
// stage can place a choice on a host, but are far larger, so a better plan leads back to the second
// stage.
// Thread safety: one thread at a time. Refers to its arguments.
class TargetSchedule {
 public:
  // `hosts_may_help`: hosts can be classes of their own.
  TargetSchedule(const BoundParameters& parameters, bool hosts_may_help)
      : parameters_(parameters),
        hosts_may_help_(hosts_may_help),
        root_work_(parameters.targets.root_work),
        tree_work_(parameters.targets.tree_work) {}

  // Returns the next target, or nothing if none is left to try. `goal`: the target that would prove
  // the rating optimal. Precondition: bound < rating.
  std::optional<double> next(double bound, double rating, double goal);
  // Begins with a new goal after the rating fell. Trees begin again with hosts that count as equal.
  void begin_again();
  void fail(double target);
  void note_cut_short() { was_cut_short_ |= !is_early_; }

  // Returns true if nodes that the relaxation does not exclude are divided.
  bool is_branching() const { return is_early_ || stage_ != Stage::kRoot; }
  // Returns true for the small tree that comes first. The next target does not keep that tree.
  bool is_early() const { return is_early_; }
  // Returns true if every host is a class of its own.
  bool separates_hosts() const { return stage_ == Stage::kHosts; }
  // Work for the tree of the target that was chosen last.
  std::uint64_t tree_work() const {
    if (is_early_) return parameters_.targets.early_tree_work;
    return ceiling_ == 0 ? tree_work_ : tree_work_ / parameters_.targets.lower_tree_part;
  }
  // Steps to try all plans of the root node; 0 for the goal, which RootSearch tries.
  std::uint64_t root_search_steps() const {
    if (is_early_) return parameters_.search.early_root_steps;
    return ceiling_ == 0 ? 0 : parameters_.search.root_steps;
  }
  // Work for the relaxation of a node.
  std::uint64_t node_work() const {
    return is_branching() ? parameters_.targets.node_work : root_work_;
  }

 private:
  enum class Stage : std::uint8_t { kRoot, kTree, kHosts };

  bool next_stage(double rating);

  const BoundParameters& parameters_;
  bool hosts_may_help_;
  Stage stage_ = Stage::kRoot;
  bool wants_early_ = true;
  bool is_early_ = false;
  bool was_cut_short_ = false;  // a target ran out of work
  std::uint64_t root_work_;
  std::uint64_t tree_work_;
  double ceiling_ = 0;  // a target that failed; 0 = none
};

// Proves the targets of a TargetSchedule by branch and price. Several lanes share a large tree.
// Thread safety: run_lane() may be called concurrently for different lanes; everything else by one
// thread at a time. Refers to the proof.
class BranchAndPrice final : public BoundMethod {
 public:
  // Precondition: the proof is not SharedTrees::is_only_aggregate().
  explicit BranchAndPrice(Proof& proof);

  bool goes_on() const override { return target_ != 0; }
  bool is_due(const Proof&) const override { return !is_exhausted_; }
  // Does one step of the first lane, or chooses a target.
  void step(Proof& proof, Budget& budget) override;

  // The tree that lanes share; null if there is none.
  const SharedTree* shared() const { return is_shared_ ? shared_tree_ : nullptr; }
  // Returns true if the tree has used BoundTargetParameters::alone_work and has at least two leaves
  // to work on. A small tree ends sooner on one lane, which begins with the next target at once.
  bool should_share() const;
  // `begins_again`: all methods had ended, and the rating fell. `is_over`: the proof has ended.
  void begin_round(Proof& proof, bool begins_again, bool is_over);
  // Precondition: a tree is shared.
  void run_lane(std::size_t lane, std::uint64_t work, Budget& budget) {
    shared_tree_->lanes()[lane]->run(work, budget);
  }
  // Returns the work of the lanes that share a tree.
  std::uint64_t end_round(Proof& proof);

 private:
  void choose_target(Proof& proof);
  std::uint64_t take_from(Proof& proof, TreeLane& lane);
  bool gives_up_tree();
  bool is_worth_more() const;
  void prove_target(Proof& proof);
  void give_up_target(const Proof& proof);

  const BoundParameters& parameters_;
  TargetSchedule targets_;
  SharedTree* shared_tree_;                                       // of the last target
  double tree_rating_ = std::numeric_limits<double>::infinity();  // when the trees began
  double target_ = 0;                                             // being proved; 0 = none
  std::uint64_t tree_work_ = 0;                                   // done for this target
  bool is_shared_ = false;  // all lanes share the open leaves of this target
  bool is_exhausted_ = false;
};

}  // namespace shardwright::embedding
