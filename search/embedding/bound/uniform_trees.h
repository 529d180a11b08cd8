// A tree that first divides what uniform choices use of every rank.
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

// The ranks of a host have the same shards of all choices that fill the host. A relaxation that
// prices ranks one by one does not see that: it lets every rank have those that fill it up beside
// its other shards. Here a node knows an interval of what uniform choices use of the ranks of each
// host. They may use its upper end, all other choices have what its lower end leaves, and the
// relaxation prices the two apart. The narrower the interval, the less is counted twice; then
// choices are divided.
// Thread safety: one thread at a time. Refers to the model and the parameters.
class UniformTree {
 public:
  // Precondition: RankClasses::can_be_apart().
  UniformTree(const ChoiceModel& model, const BoundParameters& parameters);
  UniformTree(const ChoiceModel& model, const BoundParameters&& parameters) = delete;
  UniformTree(const UniformTree&) = delete;
  UniformTree& operator=(const UniformTree&) = delete;

  // Begins with a target, which may take so much work. What was learnt from earlier ones is kept.
  // `divides`: otherwise the first fractional plan is what is asked for, and nothing is divided but
  // what is certain.
  void begin(double target, std::uint64_t work, bool divides = true);
  // Gives up the target.
  void abandon();
  bool is_active() const { return target_ != 0; }
  double target() const { return target_; }
  // Nothing is left to do for the target, or the limit of work is reached.
  bool has_ended() const { return is_stuck_ || is_proved() || work_ >= most_work_; }
  // A node that may have a plan below the target cannot be divided.
  bool is_stuck() const { return is_stuck_; }
  bool is_proved() const { return !is_stuck_ && open_.empty() && !relaxation_.is_active(); }
  // One step of the relaxation of a node. Precondition: it has not ended.
  void step(Budget& budget);
  // The choices of the node that nothing divides, with ranks for what its patterns hold; empty if
  // there is no such node.
  Allocation take_suggestion(Budget& budget);

  const RankClasses& classes() const { return rows_.classes(); }
  // Rows of shards that a linear program has at most.
  std::size_t max_rows() const { return relaxation_.columns().max_rows(); }
  // The certificate's nodes. Precondition: is_proved().
  std::vector<BoundNode> certificate_nodes() const;

 private:
  using NodeId = std::uint32_t;

  struct Node {
    NodeId first_child = 0;  // 0 = a leaf
    BoundNode proof;         // of an inner node, all but its children
  };
  struct Open {
    NodeId node = 0;
    Domain domain;
    std::vector<UniformUse> use;  // by class
  };
  // A resource of a class that could be divided.
  struct Interval {
    UniformSplit split;
    double width = 0;  // as a part of the rank
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
  std::vector<Open> open_;  // the last is next
  Open current_;
  bool divides_ = true;
  bool is_stuck_ = false;
  FractionalPlan stuck_plan_;
};

// What a target is chosen for.
struct TargetRange {
  double bound = 0;       // that is proved
  double goal = 0;        // the target that would prove the rating optimal
  double least_step = 0;  // of bisection
};

// Bisection between the proved bound and the lowest target that failed. It begins again with more
// work for a target. A target at which nothing was left to divide is not tried again: more work
// would not help. But there may be a plan between it and the goal, so a few targets follow that are
// only to suggest one: halfway to the goal, again and again.
// Thread safety: one thread at a time. Refers to its argument.
class UniformTargets {
 public:
  explicit UniformTargets(const UniformTreeParameters& parameters) : parameters_(parameters) {}

  // Returns true if a target is to be tried.
  bool has_next(const TargetRange& range) const;
  // Work for the target that comes next, if there is one.
  std::uint64_t next_work(const TargetRange& range) const;
  // Precondition: has_next().
  double next(const TargetRange& range);
  // Returns true if the target that was chosen last is only to suggest a plan.
  bool is_suggesting() const { return is_suggesting_; }
  // Work for the target that was chosen last.
  std::uint64_t work() const { return work_of(effort_); }
  // `is_stuck`: nothing was left to divide. Otherwise there was not enough work. Precondition: it
  // was not to suggest a plan only.
  void fail(double target, bool is_stuck);

 private:
  std::uint64_t work_of(std::uint32_t effort) const;
  bool suggests(const TargetRange& range) const;
  bool goes_on(const TargetRange& range) const;

  const UniformTreeParameters& parameters_;
  std::uint32_t effort_ = 0;
  double ceiling_ = 0;  // the lowest target that failed with this effort
  double stuck_ = std::numeric_limits<double>::infinity();  // ... with nothing left to divide
  std::uint32_t cut_short_ = 0;                             // targets, with this effort
  bool is_suggesting_ = false;
  std::uint32_t suggestions_left_ = 0;
  double suggested_ = 0;  // the last such target, or the one before them
};

// Thread safety: one thread at a time. Refers to the proof.
class UniformTrees final : public BoundMethod {
 public:
  // Precondition: may_help().
  explicit UniformTrees(const Proof& proof)
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

  UniformTree tree_;
  UniformTargets targets_;
  WorkShare share_;
};

}  // namespace shardwright::embedding
