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

// The order of targets. A target is a rating; it is proved if no plan rates below it. The goal is
// the target that proves the best known plan optimal. A small tree for the goal comes first. Three
// stages follow: the root node alone, trees, and trees in which every host is a rank class. Each
// stage starts with the goal and continues by bisection: a target that fails becomes the ceiling,
// and the next target lies halfway between the proved bound and the ceiling. When bound and ceiling
// are close, the stage ends. If a target ran out of work, the stage is repeated with more work; the
// root stage then tries the goal last. Otherwise the next stage begins. Trees of the last stage can
// place a choice on a host, but are far larger, so a lower goal leads back to the second stage.
// Thread safety: one thread at a time. Refers to its arguments.
class TargetSchedule {
 public:
  // `hosts_may_help`: true if every host can be a rank class, which the last stage needs.
  TargetSchedule(const BoundParameters& parameters, bool hosts_may_help)
      : parameters_(parameters),
        hosts_may_help_(hosts_may_help),
        root_work_(parameters.targets.root_work),
        tree_work_(BoundTargetParameters::kTreeWork) {}

  // Returns the next target, or nothing if no target is left. Precondition: bound < rating.
  std::optional<double> next(double bound, double rating, double goal);
  // Begins again with a new goal, after the rating fell. Leaves the last stage.
  void begin_again();
  void fail(double target);
  void note_cut_short() { was_cut_short_ |= !is_early_; }

  // Returns true if the last target is tried with a tree, and false if with the root node alone.
  bool is_branching() const { return is_early_ || stage_ != Stage::kRoot; }
  // Returns true if the last target is tried with the small first tree, which is not reused.
  bool is_early() const { return is_early_; }
  // Returns true if every host is a class of its own.
  bool separates_hosts() const { return stage_ == Stage::kHosts; }
  // Limit of work for the tree of the last target.
  std::uint64_t tree_work() const {
    if (is_early_) return BoundTargetParameters::kEarlyTreeWork;
    return ceiling_ == 0 ? tree_work_ : tree_work_ / BoundTargetParameters::kLowerTreePart;
  }
  // Limit of steps for the search of all plans of the root node. It is 0 for the goal, because
  // RootSearch does this search.
  std::uint64_t root_search_steps() const {
    if (is_early_) return NodeSearchParameters::kEarlyRootSteps;
    return ceiling_ == 0 ? 0 : NodeSearchParameters::kRootSteps;
  }
  // Limit of work for the relaxation of a node.
  std::uint64_t node_work() const {
    return is_branching() ? BoundTargetParameters::kNodeWork : root_work_;
  }

 private:
  enum class Stage : std::uint8_t { kRoot, kTree, kHosts };

  bool next_stage(double rating);

  const BoundParameters& parameters_;
  bool hosts_may_help_;
  Stage stage_ = Stage::kRoot;
  bool wants_early_ = true;
  bool is_early_ = false;
  bool was_cut_short_ = false;  // true if a target ran out of work in this stage
  std::uint64_t root_work_;
  std::uint64_t tree_work_;
  double ceiling_ = 0;  // the last target that failed; 0 = none
};

// Tries the targets of a TargetSchedule by branch and price. All lanes share a large tree.
// Thread safety: run_lane() may be called concurrently for different lanes; all other members
// belong to one thread at a time. Refers to the proof.
class BranchAndPrice final : public BoundMethod {
 public:
  // Precondition: !proof.shared_trees().is_only_aggregate().
  explicit BranchAndPrice(Proof& proof);

  bool goes_on() const override { return target_ != 0; }
  bool is_due(const Proof&) const override { return !is_exhausted_; }
  // Chooses a target if there is none; otherwise does one step of the first lane.
  void step(Proof& proof, Budget& budget) override;

  // The tree that lanes share; null if there is none.
  const SharedTree* shared() const { return is_shared_ ? shared_tree_ : nullptr; }
  // Returns true if all lanes should share the tree: it has used BoundTargetParameters::alone_work
  // and has at least two open leaves. A smaller tree ends sooner on one lane.
  bool should_share() const;
  // `begins_again`: the rating fell after all methods had ended. `is_over`: the proof has ended.
  void begin_round(Proof& proof, bool begins_again, bool is_over);
  // Precondition: a tree is shared.
  void run_lane(std::size_t lane, std::uint64_t work, Budget& budget) {
    shared_tree_->lanes()[lane]->run(work, budget);
  }
  // Returns the work of this round by lanes that share a tree; 0 if no tree is shared.
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
  SharedTree* shared_tree_;                                       // the tree of the last target
  double tree_rating_ = std::numeric_limits<double>::infinity();  // rating when trees began anew
  double target_ = 0;                                             // the current target; 0 = none
  std::uint64_t tree_work_ = 0;                                   // work spent on this target
  bool is_shared_ = false;  // true if all lanes share the open leaves
  bool is_exhausted_ = false;
};

}  // namespace shardwright::embedding
