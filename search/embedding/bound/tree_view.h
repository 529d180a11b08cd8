// One view of the ranks: its tree of the proof, and the lanes that share the tree.
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
#include "search/embedding/bound/node_relaxation.h"
#include "search/embedding/bound/round_patterns.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

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
      : tree_(&tree),
        rows_(&rows),
        branching_(&branching),
        parameters_(&parameters),
        search_(&parameters.search) {}

  // Gives up all leaves and begins with a target.
  void begin(double target, const NodeLimits& limits);
  // The open leaves, first one first.
  void assign(const std::vector<BoundTree::NodeId>& leaves);
  // Takes over half of the leaves that another lane has not begun, those that it would visit last:
  // what one lane visits in a row is close together and needs the same patterns. Their domains stay
  // behind. Precondition: both have handed over.
  void take_half(TreeLane& other);
  // Leaves that it could give away.
  std::size_t num_waiting() const { return open_.size(); }

  // Has no leaf.
  bool is_idle() const { return !is_busy() && open_.empty(); }
  bool may_divide() const { return limits_.may_divide; }
  // A node that is not excluded cannot be divided: the target must be given up.
  bool is_stuck() const { return is_stuck_; }
  bool was_cut_short() const { return was_cut_short_; }
  // The lane is at a node that nothing divides. It tries all plans there and makes a suggestion
  // before it is stuck.
  bool is_at_end() const { return rounding_ || (relaxation_ && relaxation_->is_at_leaf()); }
  // What the fractional plan of the node where it is stuck suggests to the search.
  const std::optional<Allocation>& stuck_start() const { return stuck_start_; }

  // A plan below the target that is in the node where it is stuck, if it found one.
  std::optional<Plan> take_found() { return std::exchange(found_, std::nullopt); }

  // One step on the next leaf. Precondition: not idle and not stuck.
  void step(Budget& budget);
  // Steps until the work is done or nothing can be done. A node that nothing divides is done with
  // at once: the other lanes need not go on if it ends the target.
  void run(std::uint64_t work, Budget& budget);
  // Writes what was found to the tree, which must be the one that the lane reads. Returns the work
  // done since the last time.
  std::uint64_t hand_over(BoundTree& tree);

  // Made when it is first needed.
  NodeRelaxation& relaxation();
  // Takes over what another lane knows when it visits its next leaf. Precondition: idle.
  void learn(std::shared_ptr<const PricingKnowledge> other) { lesson_ = std::move(other); }

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
  const NodeSearchParameters* search_;
  std::unique_ptr<NodeRelaxation> relaxation_;      // null until needed
  std::shared_ptr<const PricingKnowledge> lesson_;  // null if there is nothing to learn
  double target_ = 0;
  NodeLimits limits_;
  std::uint64_t search_steps_ = 0;  // for the next node
  std::vector<Open> open_;          // the last is next
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

enum class RankView : std::uint8_t {
  kJoint,     // all hosts count as equal
  kSeparate,  // hosts are classes
};
inline constexpr std::size_t kRankViews = 2;

// Not moved: its parts refer to each other.
// Thread safety: lanes() may run concurrently; everything else by one thread at a time.
class TreeView {
 public:
  TreeView(BoundRows rows, const BoundParameters& parameters);
  TreeView(const TreeView&) = delete;
  TreeView& operator=(const TreeView&) = delete;

  const BoundRows& rows() const { return rows_; }
  const Branching& branching() const { return branching_; }
  BoundTree& tree() { return tree_; }
  const BoundTree& tree() const { return tree_; }
  void plant_again() { tree_ = BoundTree(rows_); }
  // The lane that works alone before the tree is shared.
  TreeLane& first_lane() { return *lanes_.front(); }
  const TreeLane& first_lane() const { return *lanes_.front(); }
  // The others are null until the tree is shared for the first time.
  std::span<const std::unique_ptr<TreeLane>> lanes() const { return lanes_; }
  bool is_too_large() const;

  // The other lanes begin with what the first one knows.
  void share(double target, const NodeLimits& limits);
  // Lanes without a leaf take half of those of the lane that has the most.
  void deal_out();

 private:
  const BoundParameters* parameters_;
  BoundRows rows_;
  Branching branching_;
  BoundTree tree_;
  std::vector<std::unique_ptr<TreeLane>> lanes_;
};

// The views of the ranks that a proof has, each with its tree.
//
// With placement rules it works on model.for_bounds(): a bound must hold for all options that the
// check of a certificate counts, and the check drops only options that the rules of their own
// table leave no place. A view stays where it is.
// Thread safety: as TreeView. Keeps references to the model, to its pool and to the parameters.
class RankViews {
 public:
  RankViews(const ChoiceModel& model, const BoundParameters& parameters);
  RankViews(const RankViews&) = delete;
  RankViews& operator=(const RankViews&) = delete;

  // What is proved about: the model that was given, or one without placement rules.
  const ChoiceModel& model() const { return *model_; }
  bool has_own_model() const { return own_model_ != nullptr; }
  // The program would be too large for trees.
  bool is_only_aggregate() const { return of(RankView::kJoint)->is_too_large(); }

  // Made when it is first asked for.
  TreeView& view(RankView which);
  // Begins all trees anew.
  void plant_again();

 private:
  const std::unique_ptr<TreeView>& of(RankView which) const {
    return views_[static_cast<std::size_t>(which)];
  }
  std::unique_ptr<TreeView>& of(RankView which) { return views_[static_cast<std::size_t>(which)]; }

  std::unique_ptr<const ChoiceModel> own_model_;  // only with placement rules
  const ChoiceModel* model_;
  const BoundParameters* parameters_;
  std::array<std::unique_ptr<TreeView>, kRankViews> views_;  // null until needed, but for kJoint
};

}  // namespace shardwright::embedding
