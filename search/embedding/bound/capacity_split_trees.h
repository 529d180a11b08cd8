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

// All ranks of a host hold the same shards of choices that fill the host. A relaxation that prices
// ranks one by one ignores this: every rank may fill its free capacity with other uniform shards.
// Here every node has an interval, per rank class, of what uniform choices use of a rank. Uniform
// choices may use up to the upper end, other choices the capacity beyond the lower end, and the
// relaxation prices both separately. The capacity within the interval is counted twice. Once
// intervals are narrow, a node branches on choices.
// Thread safety: one thread at a time. Refers to the model and the parameters.
class CapacitySplitTree {
 public:
  // Precondition: RankClasses::can_be_apart().
  CapacitySplitTree(const ChoiceModel& model, const BoundParameters& parameters);
  CapacitySplitTree(const ChoiceModel& model, const BoundParameters&& parameters) = delete;
  CapacitySplitTree(const CapacitySplitTree&) = delete;
  CapacitySplitTree& operator=(const CapacitySplitTree&) = delete;

  // Begins with a target and a limit of work. Patterns of earlier targets are kept. If `divides` is
  // false, the tree only raises the lower ends of intervals to the use that every plan has. It ends
  // at the first fractional plan, which take_suggestion() rounds.
  void begin(double target, std::uint64_t work, bool divides = true);
  // Gives up the target.
  void abandon();
  bool is_active() const { return target_ != 0; }
  double target() const { return target_; }
  // Returns true if nothing is left to do for the target, or the limit of work is reached.
  bool has_ended() const { return is_stuck_ || is_proved() || work_ >= most_work_; }
  // Returns true if a node may have a plan below the target and is not divided.
  bool is_stuck() const { return is_stuck_; }
  bool is_proved() const { return !is_stuck_ && open_.empty() && !relaxation_.is_active(); }
  // Does one step of the relaxation of a node. Precondition: !has_ended().
  void step(Budget& budget);
  // The start that round_patterns() makes from the node where the tree is stuck; empty if there is
  // no such node.
  Allocation take_suggestion(Budget& budget);

  const RankClasses& classes() const { return rows_.classes(); }
  // Largest number of shard rows of a master program.
  std::size_t max_rows() const { return relaxation_.columns().max_rows(); }
  // The certificate's nodes. Precondition: is_proved().
  std::vector<BoundNode> certificate_nodes() const;

 private:
  using NodeId = std::uint32_t;

  struct Node {
    NodeId first_child = 0;  // 0 = a leaf
    BoundNode proof;         // of a leaf, or an inner node
  };
  struct Open {
    NodeId node = 0;
    Domain domain;
    std::vector<UniformUse> use;  // by class
  };
  // The interval of a resource of a class, and where to divide it.
  struct Interval {
    UniformSplit split;
    double width = 0;  // as a fraction of the rank
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
  std::vector<Open> open_;  // the last one is next
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

// Bisection between the proved bound and the lowest target that failed, repeated with more work per
// target. A target at which nothing was left to divide is not tried again, because more work would
// not help. A plan may lie between this target and the goal, so a few targets follow that serve
// only to suggest a plan, each halfway to the goal.
// Thread safety: one thread at a time. Refers to its argument.
class UniformTargets {
 public:
  explicit UniformTargets(const UniformTreeParameters& parameters) : parameters_(parameters) {}

  // Returns true if a target is to be tried.
  bool has_next(const TargetRange& range) const;
  // Limit of work of the next target.
  std::uint64_t next_work(const TargetRange& range) const;
  // Precondition: has_next().
  double next(const TargetRange& range);
  // Returns true if the last target serves only to suggest a plan.
  bool is_suggesting() const { return is_suggesting_; }
  // Limit of work of the last target.
  std::uint64_t work() const { return work_of(effort_); }
  // `is_stuck`: nothing was left to divide; otherwise the target ran out of work. Precondition:
  // !is_suggesting().
  void fail(double target, bool is_stuck);

 private:
  std::uint64_t work_of(std::uint32_t effort) const;
  bool suggests(const TargetRange& range) const;
  bool goes_on(const TargetRange& range) const;

  const UniformTreeParameters& parameters_;
  std::uint32_t effort_ = 0;
  double ceiling_ = 0;  // the lowest target that failed with this effort
  double stuck_ = std::numeric_limits<double>::infinity();  // failed with nothing left to divide
  std::uint32_t cut_short_ = 0;  // targets that ran out of work, with this effort
  bool is_suggesting_ = false;
  std::uint32_t suggestions_left_ = 0;
  double suggested_ = 0;  // the last target to suggest a plan; at first stuck_
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
