// Branch and price: targets that trees with column generation prove.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>

#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/proof.h"

namespace shardwright::embedding {

// A small tree comes first, for the target that would prove the rating optimal: the domains of its
// nodes are reduced, and often a few nodes suffice. Then comes bisection between the proved bound
// and the best rating, from the same target on. A target that fails becomes the ceiling, and the
// next one lies halfway between the bound and the ceiling. When the two are close, the root node is
// asked again with more work if a question was cut short; if nothing fails then, the goal is asked,
// too. After that everything starts again with branching. The tree of a far target may be too large
// to end, so trees have little work at first, and more if one was cut short. At last, if that may
// help, every host is a class of its own: such trees can place a choice on a host, but are far
// larger. A better plan that is found meanwhile may make that unnecessary, so the schedule then
// returns to the smaller trees. Thread safety: one thread at a time. Refers to its arguments.
class TargetSchedule {
 public:
  // `hosts_may_help`: the classes can be separated by host.
  TargetSchedule(const BoundParameters& parameters, bool hosts_may_help)
      : parameters_(parameters),
        hosts_may_help_(hosts_may_help),
        root_work_(parameters.targets.root_work),
        tree_work_(parameters.targets.tree_work) {}

  // Empty when nothing is left to try. `goal`: the target that would prove the rating optimal.
  // Precondition: bound < rating.
  std::optional<double> next(double bound, double rating, double goal);
  // The rating fell: the goal is another one. Trees begin with hosts that count as equal.
  void begin_again();
  void fail(double target);
  void note_cut_short() { was_cut_short_ |= !is_early_; }

  // Nodes that the relaxation does not exclude are divided.
  bool is_branching() const { return is_early_ || stage_ != Stage::kRoot; }
  // The small tree that comes first. It is not kept.
  bool is_early() const { return is_early_; }
  // Every host is a class of its own.
  bool separates_hosts() const { return stage_ == Stage::kHosts; }
  // Work for the tree of the target that was chosen last.
  std::uint64_t tree_work() const {
    if (is_early_) return parameters_.targets.early_tree_work;
    return ceiling_ == 0 ? tree_work_ : tree_work_ / parameters_.targets.lower_tree_part;
  }
  // Steps to try all plans of the root node. For the goal, RootSearch does that.
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
  bool was_cut_short_ = false;  // a question, for lack of work
  std::uint64_t root_work_;
  std::uint64_t tree_work_;
  double ceiling_ = 0;  // a target that failed; 0 = none
};

// At the root node alone first, then with a tree. The lanes of a tree may share a large one.
// Thread safety: run_lane() may be called concurrently for different lanes; everything else by one
// thread at a time. Refers to the proof.
class BranchAndPrice final : public BoundMethod {
 public:
  // Precondition: the programs are not too large.
  explicit BranchAndPrice(Proof& proof);

  bool goes_on() const override { return target_ != 0; }
  bool is_due(const Proof&) const override { return !is_exhausted_; }
  // On one lane.
  void step(Proof& proof, Budget& budget) override;

  // The tree that lanes share; null if there is none.
  const TreeView* shared() const { return is_shared_ ? view_ : nullptr; }
  // Small trees end sooner on one lane, which begins with the next target at once. A larger one is
  // shared as soon as it has two leaves.
  bool should_share() const;
  // `begins_again`: everything was tried, and the rating fell. `is_over`: nothing is to be proved.
  void begin_round(Proof& proof, bool begins_again, bool is_over);
  // Precondition: a tree is shared.
  void run_lane(std::size_t lane, std::uint64_t work, Budget& budget) {
    view_->lanes()[lane]->run(work, budget);
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
  TreeView* view_;                                                // of the last target
  double tree_rating_ = std::numeric_limits<double>::infinity();  // when the trees were planted
  double target_ = 0;                                             // being proved; 0 = none
  std::uint64_t tree_work_ = 0;                                   // for this target
  bool is_shared_ = false;  // the open leaves of this target are dealt out to all lanes
  bool is_exhausted_ = false;
};

}  // namespace shardwright::embedding
