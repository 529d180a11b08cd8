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

// Tries to prove a target with a small branch-and-bound tree and without column generation. Domain
// reduction bounds every node. Branches separate only choices that differ by a large part of the
// load or memory of all ranks. If few tables need every rank, a few nodes often suffice, and they
// cost less than one pricing problem.
// Thread safety: one thread at a time. Refers to its arguments.
class LagrangianTree {
 public:
  LagrangianTree(const BoundRows& rows, const Branching& branching, double target,
                 const BoundParameters& parameters, Budget& budget);

  double target() const { return target_; }
  // Returns true if the target is proved, the tree is stuck, or the work is used up. The limit of
  // work is higher if much of the tree is proved, because the last nodes take little.
  bool has_ended() const {
    return is_stuck_ || is_proved() || (work_ >= targets_->light_work && !is_worth_more());
  }
  bool is_proved() const { return !is_stuck_ && open_.empty(); }
  // Visits one node. Precondition: !has_ended().
  void step(Budget& budget);
  // At the node where the tree is stuck, the choice of every table with the largest share in the
  // fractional plan. Empty if the tree is not stuck or no plan is known.
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
  const BoundTargetParameters* targets_;
  double target_;
  std::uint64_t work_ = 0;
  BoundTree tree_;
  std::vector<Open> open_;  // visited from the back
  bool is_stuck_ = false;   // a node has no branch whose sides differ enough
  std::vector<std::uint32_t> stuck_choices_;
};

// Tries a LagrangianTree for the goal whenever a better plan is known. Skips the goal if a lower
// target has failed, because the goal would fail, too. If the rating fell by
// BoundParameters::rating_fall, more trees follow, whose targets bisect the interval from the bound
// to the goal or to the lowest failed target.
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

  double rating_ = std::numeric_limits<double>::infinity();   // when a goal was last tried
  double ceiling_ = std::numeric_limits<double>::infinity();  // the lowest target that failed
  std::uint32_t trees_left_ = 0;                              // at this rating
  std::optional<LagrangianTree> tree_;
};

}  // namespace shardwright::embedding
