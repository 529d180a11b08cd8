#include "search/embedding/bound/lagrangian_tree.h"

#include <optional>
#include <utility>

#include "search/embedding/bound/domain_reduction.h"

namespace shardwright::embedding {

LagrangianTree::LagrangianTree(const BoundRows& rows, const Branching& branching, double target,
                               const BoundParameters& parameters, Budget& budget)
    : rows_(&rows),
      branching_(&branching),
      aggregate_(&parameters.aggregate),
      targets_(&parameters.targets),
      target_(target),
      tree_(rows) {
  open_.push_back({0, tree_.domain(0, target, budget)});
}

bool LagrangianTree::is_worth_more() const {
  const auto light_work = static_cast<double>(targets_->light_work);
  return static_cast<double>(work_) < (1 + targets_->light_extension) * light_work &&
         tree_.closed_part(target_) >= BoundTargetParameters::kClosedPart;
}

void LagrangianTree::step(Budget& budget) {
  const std::uint64_t before = budget.work_done();
  Open next = std::move(open_.back());
  open_.pop_back();
  visit(std::move(next), budget);
  work_ += budget.work_done() - before;
}

void LagrangianTree::visit(Open next, Budget& budget) {
  DomainReduction reduced = reduce_domain(*rows_, target_, next.domain, *aggregate_, budget);
  if (reduced.excluded) {
    BoundNode leaf;
    leaf.fixing = std::move(reduced.fixing);
    leaf.multipliers = std::move(reduced.multipliers);
    tree_.close(next.node, target_, std::move(leaf));
    return;
  }
  std::optional<Branch> branch;
  if (!reduced.plan.shares.empty()) {
    const std::vector<EqualTables> groups = rows_->kinds().groups(next.domain);
    for (const double least :
         {BranchingParameters::kLargeSeparation, BranchingParameters::kLightSeparation}) {
      if (!branch)
        branch = branching_->choose_large(next.domain, groups, reduced.plan, target_, least);
      if (!branch) branch = branching_->choose_widest_gap(next.domain, groups, target_, least);
    }
  }
  if (!branch) {
    is_stuck_ = true;
    if (!reduced.plan.shares.empty()) stuck_choices_ = largest_shares(rows_->model(), reduced.plan);
    return;
  }
  const BoundTree::NodeId first =
      tree_.divide(next.node, target_, *branch, std::move(reduced.fixing));
  Domain second = next.domain;
  restrict_to_child(rows_->model(), *branch, true, next.domain);
  restrict_to_child(rows_->model(), *branch, false, second);
  open_.push_back({first, std::move(next.domain)});
  open_.push_back({first + 1, std::move(second)});
}

void LightTrees::step(Proof& proof, Budget& budget) {
  if (tree_ && tree_->target() > proof.rating()) tree_.reset();  // a plan below the target is known
  if (!tree_) plant(proof, budget);
  if (!tree_) return;
  if (!tree_->has_ended()) tree_->step(budget);
  if (!tree_->has_ended()) return;
  if (tree_->is_proved()) {
    proof.accept(tree_->target(),
                 proof.shared_trees().tree_of(HostClasses::kJoint).rows().classes(),
                 tree_->certificate_nodes());
  } else {
    ceiling_ = tree_->target();
    proof.suggest(Allocation::of_choices(tree_->stuck_choices()), tree_->target());
  }
  tree_.reset();
}

void LightTrees::plant(Proof& proof, Budget& budget) {
  double target = (proof.bound() + ceiling(proof)) / 2;
  if (proof.rating() < rating_) {
    if (proof.fell_below(rating_)) trees_left_ = proof.parameters().targets.light_trees;
    rating_ = proof.rating();
    target = proof.goal();
    if (target >= ceiling_) return;
  }
  trees_left_ -= std::min(trees_left_, 1U);
  if (proof.bound() >= target) return;
  const SharedTree& shared = proof.shared_trees().tree_of(HostClasses::kJoint);
  tree_.emplace(shared.rows(), shared.branching(), target, proof.parameters(), budget);
}

}  // namespace shardwright::embedding
