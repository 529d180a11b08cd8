// Which target the prover tries next.
#pragma once

#include <cstdint>
#include <optional>

#include "search/embedding/best/parameters/bound_parameters.h"

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

  // The target that would prove the rating optimal.
  double goal(double rating) const {
    return rating * (1 - parameters_.targets.goal_in_gap * parameters_.optimality_gap);
  }
  // Empty when nothing is left to try. Precondition: bound < rating.
  std::optional<double> next(double bound, double rating);
  // The rating fell: the goal is another one. Trees begin with hosts that count as equal.
  void begin_again();
  void fail(double target);
  void note_cut_short() { was_cut_short_ |= !is_early_; }

  // Nodes that the relaxation does not exclude are divided.
  bool is_branching() const { return is_early_ || stage_ != Stage::kRoot; }
  // How often more work was begun: once after the small tree, and with every stage or growth.
  std::uint32_t effort() const { return effort_; }
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
  std::uint32_t effort_ = 0;
  bool was_cut_short_ = false;  // a question, for lack of work
  std::uint64_t root_work_;
  std::uint64_t tree_work_;
  double ceiling_ = 0;  // a target that failed; 0 = none
};

}  // namespace shardwright::embedding
