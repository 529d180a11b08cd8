#include "search/embedding/bound/branch_and_price.h"

#include <optional>
#include <utility>
#include <vector>

#include "search/embedding/bound/bound_tree.h"

namespace shardwright::embedding {

// Begins the next stage, or the same stage with more work if a target ran out of work. Returns
// false if there is neither.
bool TargetSchedule::next_stage(double rating) {
  if (was_cut_short_ && stage_ == Stage::kRoot &&
      root_work_ < BoundTargetParameters::kMaxRootWork) {
    root_work_ *= BoundTargetParameters::kRootWorkGrowth;
    was_cut_short_ = false;
    ceiling_ = rating;
    return true;
  }
  if (was_cut_short_ && is_branching() && tree_work_ < BoundTargetParameters::kMaxTreeWork) {
    tree_work_ *= BoundTargetParameters::kTreeWorkGrowth;
    was_cut_short_ = false;
    ceiling_ = 0;
    return true;
  }
  was_cut_short_ = false;
  if (stage_ == Stage::kHosts || (stage_ == Stage::kTree && !hosts_may_help_)) return false;
  tree_work_ = BoundTargetParameters::kTreeWork;
  stage_ = stage_ == Stage::kRoot ? Stage::kTree : Stage::kHosts;
  ceiling_ = 0;
  return true;
}

void TargetSchedule::begin_again() {
  ceiling_ = 0;
  wants_early_ = stage_ == Stage::kRoot;
  if (stage_ == Stage::kHosts) stage_ = Stage::kTree;
}

void TargetSchedule::fail(double target) {
  if (!is_early_) ceiling_ = target;
}

std::optional<double> TargetSchedule::next(double bound, double rating, double goal) {
  const BoundTargetParameters& targets = parameters_.targets;
  is_early_ = std::exchange(wants_early_, false);
  if (is_early_) return goal;
  const double least_step = !is_branching()  ? targets.root_step
                            : was_cut_short_ ? BoundTargetParameters::kCutTreeStep
                                             : BoundTargetParameters::kTreeStep;
  if (ceiling_ > rating) begin_again();
  if (ceiling_ != 0 && ceiling_ - bound < least_step * rating) {
    if (ceiling_ == rating) return goal;  // no target failed with the present limit of work
    if (!next_stage(rating)) return std::nullopt;
  }
  if (ceiling_ == 0) return goal;
  return (ceiling_ + bound) / 2;
}

BranchAndPrice::BranchAndPrice(Proof& proof)
    : parameters_(proof.parameters()),
      targets_(parameters_, RankClasses::can_separate_hosts(proof.model(), parameters_.classes)),
      shared_tree_(&proof.shared_trees().tree_of(HostClasses::kJoint)) {}

void BranchAndPrice::step(Proof& proof, Budget& budget) {
  if (target_ == 0) return choose_target(proof);
  if (target_ > proof.rating() || gives_up_tree()) return give_up_target(proof);
  TreeLane& lane = shared_tree_->first_lane();
  lane.step(budget);
  take_from(proof, lane);
  if (lane.is_stuck()) {
    give_up_target(proof);
  } else if (lane.is_idle()) {
    prove_target(proof);
  }
}

// Chooses the next target. Drops the small first tree. After a much better plan, drops all trees,
// because their branches suit the old goal, and new trees need fewer nodes.
void BranchAndPrice::choose_target(Proof& proof) {
  const bool was_early = targets_.is_early();
  const std::optional<double> target = targets_.next(proof.bound(), proof.rating(), proof.goal());
  is_exhausted_ = !target;
  if (!target) return;
  target_ = *target;
  tree_work_ = 0;
  shared_tree_ = &proof.shared_trees().tree_of(targets_.separates_hosts() ? HostClasses::kSeparate
                                                                          : HostClasses::kJoint);
  if (proof.fell_below(tree_rating_)) {
    tree_rating_ = proof.rating();
    proof.shared_trees().plant_again();
  }
  if (was_early || targets_.is_early())
    proof.shared_trees().tree_of(HostClasses::kJoint).plant_again();
  const BoundTree& tree = shared_tree_->tree();
  const std::vector<BoundTree::NodeId> open = tree.open_leaves(target_);
  if (open.empty()) return prove_target(proof);
  const bool may_divide = parameters_.methods.branching && targets_.is_branching() &&
                          tree.size() < BoundTargetParameters::kMaxNodes;
  TreeLane& lane = shared_tree_->first_lane();
  lane.begin(target_, {targets_.node_work(), targets_.root_search_steps(), may_divide});
  lane.assign(open);
}

std::uint64_t BranchAndPrice::take_from(Proof& proof, TreeLane& lane) {
  const std::uint64_t work = lane.hand_over(shared_tree_->tree());
  tree_work_ += work;
  if (lane.was_cut_short()) targets_.note_cut_short();
  proof.find(lane.take_found());
  if (const auto& start = lane.stuck_start()) proof.suggest(*start, target_);
  return work;
}

bool BranchAndPrice::should_share() const {
  if (target_ == 0 || is_shared_ || !targets_.is_branching()) return false;
  TreeLane& lane = shared_tree_->first_lane();
  return tree_work_ >= parameters_.targets.alone_work && !lane.is_at_end() &&
         lane.num_waiting() + (lane.relaxation().is_active() ? 1U : 0U) > 1;
}

// Gives up the target if a plan below the target is known.
void BranchAndPrice::begin_round(Proof& proof, bool begins_again, bool is_over) {
  if (begins_again) {
    targets_.begin_again();
    is_exhausted_ = false;
  }
  if (is_shared_ && (is_over || target_ > proof.rating())) give_up_target(proof);
  if (is_shared_) shared_tree_->deal_out();
}

// Takes the results of the lanes that share a tree, or begins to share a large tree.
std::uint64_t BranchAndPrice::end_round(Proof& proof) {
  if (should_share()) {
    const TreeLane& first = shared_tree_->first_lane();
    shared_tree_->share(target_, {targets_.node_work(), 0, first.may_divide()});
    is_shared_ = true;
    return 0;
  }
  if (!is_shared_) return 0;
  std::uint64_t work = 0;
  bool is_stuck = false;
  for (const auto& lane : shared_tree_->lanes()) {
    work += take_from(proof, *lane);
    is_stuck |= lane->is_stuck();
  }
  if (shared_tree_->tree().open_leaves(target_).empty()) {
    prove_target(proof);
  } else if (is_stuck || gives_up_tree()) {
    give_up_target(proof);
  }
  return work;
}

// Returns true if the tree has used its work, but enough of it is proved to continue.
bool BranchAndPrice::is_worth_more() const {
  const double closed = shared_tree_->tree().closed_part(target_);
  const double most = closed * BoundTargetParameters::kMostExtension;
  return closed >= BoundTargetParameters::kClosedPart &&
         static_cast<double>(tree_work_) < most * static_cast<double>(targets_.tree_work());
}

// Returns true if the tree has become too large, or has used its work.
bool BranchAndPrice::gives_up_tree() {
  const TreeLane& first = shared_tree_->first_lane();
  if (!targets_.is_branching() || first.is_at_end()) return false;
  if (tree_work_ >= targets_.tree_work() && !is_worth_more()) {
    targets_.note_cut_short();
    return true;
  }
  return shared_tree_->tree().size() >= BoundTargetParameters::kMaxNodes && first.may_divide();
}

// Accepts the proof, or gives it up if its check would take too many search steps.
void BranchAndPrice::prove_target(Proof& proof) {
  if (shared_tree_->tree().search_steps() > parameters_.search.proof_steps)
    return give_up_target(proof);
  proof.accept(target_, shared_tree_->rows().classes(),
               shared_tree_->tree().certificate_nodes(target_));
  target_ = 0;
  is_shared_ = false;
}

void BranchAndPrice::give_up_target(const Proof& proof) {
  if (target_ <= proof.rating()) targets_.fail(target_);
  target_ = 0;
  is_shared_ = false;
}

}  // namespace shardwright::embedding
