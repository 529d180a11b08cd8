// The lanes that share a branch-and-bound tree.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/bound_tree.h"
#include "search/embedding/bound/branching.h"
#include "search/embedding/bound/diving_heuristic.h"
#include "search/embedding/bound/node_relaxation.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Limits that a lane obeys at every node while it works on a target.
// Thread safety: a value.
struct NodeLimits {
  std::uint64_t column_work = 0;        // largest work of column generation
  std::uint64_t root_search_steps = 0;  // of the search of all plans of the root node
  bool may_divide = false;              // if false, the target fails at a node that is not excluded
};

// A worker that bounds leaves of a tree, depth first. A lane only reads the tree, like all other
// lanes. Between rounds, hand_over() writes the lane's results to the tree.
// Thread safety: one thread at a time. Refers to its arguments.
class TreeLane {
 public:
  TreeLane(const BoundTree& tree, const BoundRows& rows, const Branching& branching,
           const BoundParameters& parameters)
      : tree_(&tree), rows_(&rows), branching_(&branching), parameters_(&parameters) {}

  // Gives up all leaves and begins a target. assign() or take_half() must follow.
  void begin(double target, const NodeLimits& limits);
  // Sets the open leaves, in the order in which the lane visits them.
  void assign(const std::vector<BoundTree::NodeId>& leaves);
  // Takes half of the other lane's waiting leaves, those that the other lane would visit last.
  // Neighbouring leaves thus stay with one lane; they need similar patterns. The leaves' domains
  // are computed again. Precondition: both lanes have called hand_over().
  void take_half(TreeLane& other);
  // The number of leaves that the lane has not begun.
  std::size_t num_waiting() const { return open_.size(); }

  // Returns true if the lane has no leaf to work on.
  bool is_idle() const { return !is_busy() && open_.empty(); }
  bool may_divide() const { return limits_.may_divide; }
  // Returns true if the lane could neither exclude nor divide a node: the target has failed.
  bool is_stuck() const { return is_stuck_; }
  bool was_cut_short() const { return was_cut_short_; }
  // Returns true if the lane is at a node without a branch. Before is_stuck() becomes true, the
  // lane tries all plans of the node and computes stuck_start().
  bool is_at_end() const { return rounding_ || (relaxation_ && relaxation_->is_at_leaf()); }
  // A start for the search for plans, rounded from the fractional plan where the lane is stuck.
  const std::optional<Allocation>& stuck_start() const { return stuck_start_; }

  // Returns the plan below the target that the lane found where it is stuck, if any.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

  // Does one step on the next leaf. Precondition: the lane is neither idle nor stuck.
  void step(Budget& budget);
  // Steps until `work` is used up, or the lane is idle or stuck. Exceeds `work` to finish a node
  // without a branch, because the other lanes can stop if the target fails at this node.
  void run(std::uint64_t work, Budget& budget);
  // Writes the results to `tree`, which the lane reads. Returns the work since the last call.
  std::uint64_t hand_over(BoundTree& tree);

  // Created at the first call.
  NodeRelaxation& relaxation();
  // Gives the lane the knowledge of another lane; the lane uses it from its next leaf on.
  // Precondition: the lane is idle.
  void learn(std::shared_ptr<const PricingKnowledge> other) { lesson_ = std::move(other); }

 private:
  using NodeId = BoundTree::NodeId;
  // Children of nodes that the lane divided have identifiers from kOwn on until hand_over().
  static constexpr NodeId kOwn = NodeId{1} << 31;

  struct Open {
    NodeId node;
    std::optional<Domain> domain;  // only of a node that the lane itself made
  };
  struct Answered {
    NodeId node;
    NodeAnswer answer;  // without a fractional plan
  };

  bool is_busy() const { return rounding_ || (relaxation_ && relaxation_->is_active()); }
  void visit_next(Budget& budget);
  void take(NodeAnswer answer, const Budget& budget);
  void end_rounding(Budget& budget);
  void adapt_search(const NodeAnswer& answer);

  const BoundTree* tree_;
  const BoundRows* rows_;
  const Branching* branching_;
  const BoundParameters* parameters_;
  std::unique_ptr<NodeRelaxation> relaxation_;      // created by relaxation()
  std::shared_ptr<const PricingKnowledge> lesson_;  // null if there is nothing to learn
  double target_ = 0;
  NodeLimits limits_;
  std::uint64_t search_steps_ = 0;  // limit of the search at the next node
  std::vector<Open> open_;          // visited from the back
  NodeId current_ = 0;
  NodeId num_own_ = 0;
  std::uint64_t work_ = 0;  // since the last hand_over()
  std::vector<Answered> answered_;
  std::optional<PatternRounding> rounding_;
  bool is_stuck_ = false;
  bool was_cut_short_ = false;
  std::optional<Allocation> stuck_start_;
  std::optional<Plan> found_;
};

enum class HostClasses : std::uint8_t {
  kJoint,     // all hosts count as equal
  kSeparate,  // every host has its own classes
};
inline constexpr std::size_t kHostClasses = 2;

// One way to put ranks into classes, with its rows, its branch-and-bound tree and the lanes that
// work on the tree. Not movable, because its members refer to each other.
// Thread safety: different lanes may run concurrently; other members belong to one thread.
class SharedTree {
 public:
  SharedTree(BoundRows rows, const BoundParameters& parameters);
  SharedTree(const SharedTree&) = delete;
  SharedTree& operator=(const SharedTree&) = delete;

  const BoundRows& rows() const { return rows_; }
  const Branching& branching() const { return branching_; }
  BoundTree& tree() { return tree_; }
  const BoundTree& tree() const { return tree_; }
  void plant_again() { tree_ = BoundTree(rows_); }
  // The lane that works alone before the tree is shared.
  TreeLane& first_lane() { return *lanes_.front(); }
  const TreeLane& first_lane() const { return *lanes_.front(); }
  // The lanes. All but the first lane are null before the first call of share().
  std::span<const std::unique_ptr<TreeLane>> lanes() const { return lanes_; }
  bool is_too_large() const;

  // Prepares all other lanes for the target, with the pricing knowledge of the first lane.
  void share(double target, const NodeLimits& limits);
  // Gives every idle lane half of the waiting leaves of the lane that has the most.
  void deal_out();

 private:
  const BoundParameters* parameters_;
  BoundRows rows_;
  Branching branching_;
  BoundTree tree_;
  std::vector<std::unique_ptr<TreeLane>> lanes_;
};

// The SharedTree of every HostClasses value. A tree keeps its address.
//
// With placement rules, the proof works on model.for_bounds(), because a bound must hold for all
// options that the check of a certificate considers. The check drops an option only if the rules of
// its own table leave it no place.
// Thread safety: as SharedTree. Keeps references to the model, to its pool and to the parameters.
class SharedTrees {
 public:
  SharedTrees(const ChoiceModel& model, const BoundParameters& parameters);
  SharedTrees(const SharedTrees&) = delete;
  SharedTrees& operator=(const SharedTrees&) = delete;

  // The model of the proof: the given model, or its for_bounds() if there are placement rules.
  const ChoiceModel& model() const { return *model_; }
  bool has_own_model() const { return own_model_ != nullptr; }
  // Returns true if the master program has more rows than BoundParameters::max_master_rows. Then
  // only the aggregate bound and Lagrangian trees are used.
  bool is_only_aggregate() const { return of(HostClasses::kJoint)->is_too_large(); }

  // Created at the first call.
  SharedTree& tree_of(HostClasses which);
  // Replaces all trees by trees with a root only.
  void plant_again();

 private:
  const std::unique_ptr<SharedTree>& of(HostClasses which) const {
    return shared_trees_[static_cast<std::size_t>(which)];
  }
  std::unique_ptr<SharedTree>& of(HostClasses which) {
    return shared_trees_[static_cast<std::size_t>(which)];
  }

  std::unique_ptr<const ChoiceModel> own_model_;  // only with placement rules
  const ChoiceModel* model_;
  const BoundParameters* parameters_;
  std::array<std::unique_ptr<SharedTree>, kHostClasses>
      shared_trees_;  // null before tree_of(); never null for kJoint
};

}  // namespace shardwright::embedding
