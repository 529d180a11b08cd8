// A tree that first branches on what uniform choices use of every rank.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/branching.h"
#include "search/embedding/bound/node_relaxation.h"
#include "search/embedding/bound/proof.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// A branch-and-bound tree on the capacity that uniform choices (is_uniform()) use of every rank. A
// uniform choice loads many ranks equally. A relaxation that prices ranks one by one ignores this:
// every rank may fill its free capacity with other uniform shards. So every node of this tree has,
// per rank class and resource, an interval for what uniform choices use of a rank. Uniform choices
// may use up to the upper end, and other choices may use the capacity beyond the lower end. The
// relaxation prices both separately, and counts the capacity within the interval twice. A node
// divides its widest interval. Once all intervals are narrow, a node branches on choices.
// Thread safety: one thread at a time. Refers to the model and the parameters.
class CapacitySplitTree {
 public:
  // Precondition: RankClasses::can_be_apart().
  CapacitySplitTree(const ChoiceModel& model, const BoundParameters& parameters);
  CapacitySplitTree(const ChoiceModel& model, const BoundParameters&& parameters) = delete;
  CapacitySplitTree(const CapacitySplitTree&) = delete;
  CapacitySplitTree& operator=(const CapacitySplitTree&) = delete;

  // Begins a target with a limit of work. Patterns of earlier targets are kept. If `divides` is
  // false, the tree only raises the lower ends of intervals to the use that every plan has, and is
  // stuck at the first fractional plan, so that take_suggestion() can round this plan.
  void begin(double target, std::uint64_t work, bool divides = true);
  // Gives up the target.
  void abandon();
  bool is_active() const { return target_ != 0; }
  double target() const { return target_; }
  // Returns true if the target is proved, the tree is stuck, or the limit of work is reached.
  bool has_ended() const { return is_stuck_ || is_proved() || work_ >= most_work_; }
  // Returns true if a node could neither be excluded nor divided.
  bool is_stuck() const { return is_stuck_; }
  bool is_proved() const { return !is_stuck_ && open_.empty() && !relaxation_.is_active(); }
  // Does one step of the relaxation of a node. Precondition: !has_ended().
  void step(Budget& budget);
  // Returns the start that round_patterns() makes from the fractional plan of the node where the
  // tree is stuck; empty if the tree is not stuck or has no such plan.
  Allocation take_suggestion(Budget& budget);

  const RankClasses& classes() const { return rows_.classes(); }
  // As ColumnGeneration::max_rows().
  std::size_t max_rows() const { return relaxation_.columns().max_rows(); }
  // The nodes of a certificate, in preorder. Precondition: is_proved().
  std::vector<BoundNode> certificate_nodes() const;

 private:
  using NodeId = std::uint32_t;

  struct Node {
    NodeId first_child = 0;  // 0 = a leaf
    BoundNode proof;         // of the certificate, for a leaf or an inner node
  };
  struct Open {
    NodeId node = 0;
    Domain domain;
    std::vector<UniformUse> use;  // by class
  };
  // The interval of a resource of a class.
  struct Interval {
    UniformSplit split;
    double width = 0;  // as a fraction of a rank's capacity
  };

  void take(NodeAnswer answer);
  Interval certain() const;
  double certain_use(std::uint32_t rank_class, std::optional<MemoryTier> tier) const;
  double whole_rank(std::uint32_t rank_class, std::optional<MemoryTier> tier) const;
  Interval widest(const FractionalPlan& plan) const;
  Interval interval_of(std::uint32_t rank_class, std::optional<MemoryTier> tier,
                       const FractionalPlan& plan) const;
  double mean_use(std::uint32_t rank_class, std::optional<MemoryTier> tier,
                  const FractionalPlan& plan) const;
  NodeId add_children();

  const BoundParameters* parameters_;
  BoundRows rows_;
  Branching branching_;
  NodeRelaxation relaxation_;
  double target_ = 0;
  std::uint64_t work_ = 0;
  std::uint64_t most_work_ = 0;
  std::vector<Node> nodes_;
  std::vector<Open> open_;  // visited from the back
  Open current_;
  bool divides_ = true;
  bool is_stuck_ = false;
  FractionalPlan stuck_plan_;
};

// The range in which a target is chosen.
struct TargetRange {
  double bound = 0;       // proved so far
  double goal = 0;        // the target that would prove the rating optimal
  double least_step = 0;  // of bisection
};

// Chooses targets by bisection between the proved bound and the lowest target that failed, and
// repeats the bisection with more work per target. A target at which the tree was stuck is not
// tried again, because more work would not help. A plan may rate between such a target and the
// goal. So a few targets in this range follow, each halfway between the last one and the goal. They
// only serve to suggest a plan.
// Thread safety: one thread at a time. Refers to its argument.
class UniformTargets {
 public:
  explicit UniformTargets(const UniformTreeParameters& parameters) : parameters_(parameters) {}

  // Returns true if a target is left to try.
  bool has_next(const TargetRange& range) const;
  // The limit of work for the next target.
  std::uint64_t next_work(const TargetRange& range) const;
  // Precondition: has_next().
  double next(const TargetRange& range);
  // Returns true if the last target serves only to suggest a plan.
  bool is_suggesting() const { return is_suggesting_; }
  // The limit of work for the last target.
  std::uint64_t work() const { return work_of(effort_); }
  // Records that the last target failed. `is_stuck`: the tree was stuck; otherwise it ran out of
  // work. Precondition: !is_suggesting().
  void fail(double target, bool is_stuck);

 private:
  std::uint64_t work_of(std::uint32_t effort) const;
  bool suggests(const TargetRange& range) const;
  bool goes_on(const TargetRange& range) const;

  const UniformTreeParameters& parameters_;
  std::uint32_t effort_ = 0;
  double ceiling_ = 0;  // the lowest failed target at effort_
  double stuck_ = std::numeric_limits<double>::infinity();  // where the tree was stuck
  std::uint32_t cut_short_ = 0;  // targets at effort_ that ran out of work
  bool is_suggesting_ = false;
  std::uint32_t suggestions_left_ = 0;
  double suggested_ = 0;  // the last suggesting target, or stuck_
};

// Tries the targets of UniformTargets with a CapacitySplitTree.
// Thread safety: one thread at a time. Refers to the proof.
class CapacitySplitTrees final : public BoundMethod {
 public:
  // Precondition: may_help().
  explicit CapacitySplitTrees(const Proof& proof)
      : tree_(proof.model(), proof.parameters()), targets_(proof.parameters().uniform) {}
  static bool may_help(const Proof& proof) {
    return RankClasses::can_be_apart(proof.model(), proof.parameters().classes);
  }

  bool goes_on() const override { return tree_.is_active(); }
  bool is_due(const Proof& proof) const override {
    return has_more(proof) && share_.allows(targets_.next_work(range_of(proof)));
  }
  bool has_more(const Proof& proof) const override { return targets_.has_next(range_of(proof)); }
  void step(Proof& proof, Budget& budget) override;
  void note_others(std::uint64_t work) override { share_.others += work; }

 private:
  static TargetRange range_of(const Proof& proof) {
    return {proof.bound(), proof.goal(), proof.least_step()};
  }

  CapacitySplitTree tree_;
  UniformTargets targets_;
  WorkShare share_;
};

}  // namespace shardwright::embedding
