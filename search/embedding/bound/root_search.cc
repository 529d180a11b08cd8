#include "search/embedding/bound/root_search.h"

#include <algorithm>
#include <utility>

#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/domain_reduction.h"

namespace shardwright::embedding {
void RootSearch::step(Proof& proof, Budget& budget) {
  const std::uint64_t before = budget.work_done();
  if (!goes_on()) {
    try_ = {next_target(proof.bound(), proof.goal()), proof.bound(), proof.goal()};
    if (is_tiny(proof) && try_.target == try_.goal)
      try_.target = proof.rating() * (1 - closeness(proof));
    begin(proof, budget);
  } else if (search_->step(budget)) {
    SearchedNode node = search_->take_answer();
    search_.reset();
    if (node.kind != SearchedNode::Kind::kExcluded && !budget.interrupted()) fail();
    take(proof, std::move(node));
  }
  share_.own += budget.work_done() - before;
}

// Reduces the domain, which may prove the target, and begins the search.
void RootSearch::begin(Proof& proof, Budget& budget) {
  const BoundRows& rows = proof.shared_trees().tree_of(HostClasses::kJoint).rows();
  Domain domain = root_domain(rows, try_.target);
  Domain all = domain;
  DomainReduction reduced = reduce_domain(rows, try_.target, domain, parameters_.aggregate, budget);
  fixing_ = std::move(reduced.fixing);
  if (reduced.excluded) {
    BoundNode leaf;
    leaf.multipliers = std::move(reduced.multipliers);
    leaf.fixing = fixing_;
    return proof.accept(try_.target, rows.classes(), {std::move(leaf)});
  }
  if (proof.shared_trees().has_own_model()) domain = std::move(all);
  if (open_cells(rows, domain) <= parameters_.search.most_root_cells) {
    const std::uint64_t steps = is_tiny(proof) ? NodeSearchParameters::kTinySteps : steps_;
    search_.emplace(rows, try_.target, domain, fixing_, steps, closeness(proof), parameters_,
                    budget);
  } else if (!budget.interrupted()) {
    fail();
  }
}

void RootSearch::take(Proof& proof, SearchedNode node) const {
  proof.find(std::move(node.found));
  if (node.kind != SearchedNode::Kind::kExcluded) return;
  const bool has_rules = proof.shared_trees().has_own_model();
  if (!has_rules) node.leaf.fixing = fixing_;
  node.leaf.by_search = !has_rules;
  proof.accept(node.below, proof.shared_trees().tree_of(HostClasses::kJoint).rows().classes(),
               {std::move(node.leaf)}, has_rules);
}

bool RootSearch::is_tiny(const Proof& proof) const {
  return steps_ == parameters_.search.first_root_steps &&
         proof.model().num_tables() * proof.model().world_size() <=
             parameters_.search.most_tiny_cells;
}

// How far the goal and a better plan must lie below the rating, as a fraction of the rating.
double RootSearch::closeness(const Proof& proof) const {
  return is_tiny(proof) ? kBoundRounding
                        : parameters_.targets.goal_in_gap * parameters_.optimality_gap;
}

// The upper end of bisection: the lowest failed target if it is above the bound, or else the goal.
double RootSearch::ceiling(double bound, double goal) const {
  return failed_ > bound ? std::min(failed_, goal) : goal;
}

bool RootSearch::are_near(double bound, double ceiling, double goal) const {
  return ceiling - bound < NodeSearchParameters::kRootTargetStep * goal;
}

bool RootSearch::has_more(const Proof& proof) const {
  const double bound = proof.bound();
  const double goal = proof.goal();
  if (bound >= goal) return false;
  if (!has_most_steps()) return true;
  if (are_near(bound, goal, goal)) return goal < goal_failed_;
  return !are_near(bound, ceiling(bound, goal), goal);
}

double RootSearch::next_target(double bound, double goal) const {
  if (are_near(bound, goal, goal) || (!has_most_steps() && goal < goal_failed_)) return goal;
  return (bound + ceiling(bound, goal)) / 2;
}

void RootSearch::fail() {
  const auto [target, bound, goal] = try_;
  failed_ = std::min(failed_, target);
  if (target >= goal) goal_failed_ = goal;
  const NodeSearchParameters& search = parameters_.search;
  if (has_most_steps() || (target >= goal && !are_near(bound, goal, goal))) return;
  steps_ = std::min(steps_ * search.root_steps_growth, search.proof_steps);
  goal_failed_ = std::numeric_limits<double>::infinity();
  failed_ = std::numeric_limits<double>::infinity();
}

}  // namespace shardwright::embedding
