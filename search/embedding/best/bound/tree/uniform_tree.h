// A tree that first divides what uniform choices use of every rank.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/bound/certificate/uniform_use.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/tree/branching.h"
#include "search/embedding/best/bound/tree/node_relaxation.h"
#include "search/embedding/best/parameters/bound_parameters.h"
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

}  // namespace shardwright::embedding
