// A small branch-and-bound tree on choices that take a large part of all ranks.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/bound_tree.h"
#include "search/embedding/bound/branching.h"
#include "search/embedding/bound/proof.h"

namespace shardwright::embedding {

// Tries to prove a target without column generation. Domain reduction bounds a node, which branches
// only between choices that differ by a large part of the load or memory of all ranks. For a few
// tables that need every rank, a few nodes often suffice and cost less than one pricing.
// Thread safety: one thread at a time. Refers to its arguments.
class LagrangianTree {
 public:
  LagrangianTree(const BoundRows& rows, const Branching& branching, double target,
                 const BoundParameters& parameters, Budget& budget);

  double target() const { return target_; }
  // Returns true if nothing is left to do, or if the work is used up. A tree that is partly proved
  // gets more work, because its last nodes often take little.
  bool has_ended() const {
    return is_stuck_ || is_proved() || (work_ >= targets_->light_work && !is_worth_more());
  }
  bool is_proved() const { return !is_stuck_ && open_.empty(); }
  // Visits one node. Precondition: it has not ended.
  void step(Budget& budget);
  // The choices with the largest shares at the node where the tree is stuck, because no branch has
  // large enough sides. Empty if there is no such node.
  const std::vector<std::uint32_t>& stuck_choices() const { return stuck_choices_; }
  // The certificate's nodes. Precondition: is_proved().
  std::vector<BoundNode> certificate_nodes() const { return tree_.certificate_nodes(target_); }

 private:
  struct Open {
    BoundTree::NodeId node;
    Domain domain;
  };

  bool is_worth_more() const;
  void visit(Open next, Budget& budget);

  const BoundRows* rows_;
  const Branching* branching_;
  const AggregateParameters* aggregate_;
  const BranchingParameters* branches_;
  const BoundTargetParameters* targets_;
  double target_;
  std::uint64_t work_ = 0;
  BoundTree tree_;
  std::vector<Open> open_;  // the last is next
  bool is_stuck_ = false;   // a node has no branch with large sides
  std::vector<std::uint32_t> stuck_choices_;
};

// Plants a tree for the goal of every better plan, if the goal is below the lowest target that
// failed: a higher target would fail, too. If the rating fell by BoundParameters::rating_fall, more
// trees follow, by bisection between the bound and the lowest failed target or the goal.
// Thread safety: one thread at a time.
class LightTrees final : public BoundMethod {
 public:
  bool goes_on() const override { return tree_.has_value(); }
  bool is_due(const Proof& proof) const override {
    return proof.rating() < rating_ ||
           (trees_left_ > 0 && ceiling(proof) - proof.bound() > proof.least_step());
  }
  void step(Proof& proof, Budget& budget) override;

 private:
  double ceiling(const Proof& proof) const { return std::min(ceiling_, proof.goal()); }
  void plant(Proof& proof, Budget& budget);

  double rating_ = std::numeric_limits<double>::infinity();   // of the last tree for a goal
  double ceiling_ = std::numeric_limits<double>::infinity();  // the lowest target that failed
  std::uint32_t trees_left_ = 0;                              // for this rating
  std::optional<LagrangianTree> tree_;
};

}  // namespace shardwright::embedding
