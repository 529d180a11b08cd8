// One of the lanes that work on a branch-and-bound tree.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/tree/bound_tree.h"
#include "search/embedding/best/bound/tree/node_relaxation.h"

namespace shardwright::embedding {

// A choice for every table from which a plan below the target may be made.
struct SuggestedChoices {
  std::vector<std::uint32_t> choices;
  double target = 0;
};

// What the lanes may do at every node of a target.
// Thread safety: a value.
struct NodeLimits {
  std::uint64_t column_work = 0;        // for column generation
  std::uint64_t root_search_steps = 0;  // to try all plans of the root node
  bool may_divide = false;              // otherwise a node that is not excluded ends the target
};

// Works on leaves of a tree, depth first, without writing to it: other lanes read it meanwhile.
// What it found goes to the tree when hand_over() is called, between rounds.
// Thread safety: one thread at a time. Refers to its arguments.
class TreeLane {
 public:
  TreeLane(const BoundTree& tree, const BoundRows& rows, const Branching& branching,
           const BoundParameters& parameters)
      : tree_(&tree), search_(&parameters.search), relaxation_(rows, branching, parameters) {}

  // Gives up all leaves and begins with a target.
  void begin(double target, const NodeLimits& limits);
  // The open leaves, first one first.
  void assign(const std::vector<BoundTree::NodeId>& leaves);
  // Takes over half of the leaves that another lane has not begun, those that it would visit last:
  // what one lane visits in a row is close together and needs the same patterns. Precondition: both
  // have handed over.
  void take_half(TreeLane& other);
  // Leaves that it could give away.
  std::size_t num_waiting() const { return open_.size(); }

  // Has no leaf.
  bool is_idle() const { return !relaxation_.is_active() && open_.empty(); }
  bool may_divide() const { return limits_.may_divide; }
  // It closed a leaf for the target, so it has reached the bottom of the tree.
  bool has_closed_any() const { return has_closed_any_; }
  // A node that is not excluded cannot be divided: the target must be given up.
  bool is_stuck() const { return is_stuck_; }
  bool was_cut_short() const { return was_cut_short_; }
  // Choices of the node where it is stuck, if its fractional plan mixes none.
  std::optional<std::vector<std::uint32_t>> stuck_choices() const;

  // A plan below the target that is in the node where it is stuck, if it found one.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

  // One step on the next leaf. Precondition: not idle and not stuck.
  void step(Budget& budget);
  // Steps until the work is done or nothing can be done.
  void run(std::uint64_t work, Budget& budget);
  // Writes what was found to the tree, which must be the one that the lane reads. Returns the work
  // done since the last time.
  std::uint64_t hand_over(BoundTree& tree);

  const NodeRelaxation& relaxation() const { return relaxation_; }
  // Takes over the patterns that another lane knows. Precondition: idle.
  void learn(const TreeLane& other) { relaxation_.learn(other.relaxation_); }

 private:
  using NodeId = BoundTree::NodeId;
  // Children of nodes that the lane divided have numbers of their own until they are handed over.
  static constexpr NodeId kOwn = NodeId{1} << 31;

  struct Open {
    NodeId node;
    std::optional<Domain> domain;  // of a node of the lane's own
  };
  struct Answered {
    NodeId node;
    NodeAnswer answer;
  };

  void visit_next(Budget& budget);
  void take(NodeAnswer answer);
  void adapt_search(const NodeAnswer& answer);

  const BoundTree* tree_;
  const NodeSearchParameters* search_;
  NodeRelaxation relaxation_;
  double target_ = 0;
  NodeLimits limits_;
  std::uint64_t search_steps_ = 0;  // for the next node
  std::vector<Open> open_;  // the last is next
  NodeId current_ = 0;
  NodeId num_own_ = 0;
  std::uint64_t work_ = 0;  // since the last hand_over()
  std::vector<Answered> answered_;
  bool is_stuck_ = false;
  bool was_cut_short_ = false;
  bool has_closed_any_ = false;
  FractionalPlan stuck_plan_;
  std::optional<Plan> found_;
};

}  // namespace shardwright::embedding
