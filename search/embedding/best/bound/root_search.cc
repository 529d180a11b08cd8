#include "search/embedding/best/bound/root_search.h"

#include <algorithm>
#include <utility>

#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/bound/tree/bound_tree.h"

namespace shardwright::embedding {

RootSearch::Answer RootSearch::run(const TreeView& view, double bound, double goal,
                                   Budget& budget) {
  const std::uint64_t before = budget.work_done();
  const double target = next_target(bound, goal);
  const BoundRows& rows = view.rows();
  BoundTree tree(rows, view.pinned());
  Domain domain = tree.domain(0, target, budget);
  DomainReduction reduced = reduce_domain(rows, target, domain, parameters_->aggregate, budget);
  SearchedNode node;
  if (reduced.excluded) {
    node.kind = SearchedNode::Kind::kExcluded;
    node.leaf.multipliers = std::move(reduced.multipliers);
    node.below = target;
  } else if (open_cells(rows, domain) <= parameters_->search.most_root_cells) {
    const double improvement = parameters_->targets.goal_in_gap * parameters_->optimality_gap;
    node = search_node(rows, target, domain, reduced.fixing, steps_, improvement,
                       parameters_->search, budget);
  }
  share_.own += budget.work_done() - before;
  Answer answer;
  answer.found = std::move(node.found);
  if (node.kind != SearchedNode::Kind::kExcluded) {
    if (!budget.interrupted()) fail(target, bound, goal);
    return answer;
  }
  node.leaf.fixing = std::move(reduced.fixing);
  tree.close(0, target, std::move(node.leaf), node.steps);
  answer.proved = node.below;
  answer.proof = tree.certificate_nodes(target);
  return answer;
}

// No target from here on is tried, unless it is the goal.
double RootSearch::ceiling(double bound, double goal) const {
  return failed_ > bound ? std::min(failed_, goal) : goal;
}

bool RootSearch::are_near(double bound, double ceiling, double goal) const {
  return ceiling - bound < parameters_->search.root_target_step * goal;
}

bool RootSearch::has_next(double bound, double goal) const {
  if (!has_most_steps()) return true;
  if (are_near(bound, goal, goal)) return goal < goal_failed_;
  return !are_near(bound, ceiling(bound, goal), goal);
}

double RootSearch::next_target(double bound, double goal) const {
  if (are_near(bound, goal, goal) || (!has_most_steps() && goal < goal_failed_)) return goal;
  return (bound + ceiling(bound, goal)) / 2;
}

void RootSearch::fail(double target, double bound, double goal) {
  failed_ = std::min(failed_, target);
  if (target == goal) goal_failed_ = goal;
  const NodeSearchParameters& search = parameters_->search;
  if (has_most_steps() || (target == goal && !are_near(bound, goal, goal))) return;
  steps_ = std::min(steps_ * search.root_steps_growth, search.proof_steps);
  goal_failed_ = std::numeric_limits<double>::infinity();
  failed_ = std::numeric_limits<double>::infinity();
}

}  // namespace shardwright::embedding
