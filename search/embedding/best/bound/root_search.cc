#include "search/embedding/best/bound/root_search.h"

#include <algorithm>
#include <utility>

#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/bound/tree/bound_tree.h"

namespace shardwright::embedding {

RootSearch::Answer RootSearch::step(const TreeView& view, double bound, double goal,
                                    Budget& budget) {
  const std::uint64_t before = budget.work_done();
  Answer answer;
  if (!is_running()) {
    try_ = {next_target(bound, goal), bound, goal};
    answer = begin(view, budget);
  } else if (search_->step(budget)) {
    answer = proof_of(view, search_->take_answer());
    search_.reset();
    if (answer.proof.empty() && !budget.interrupted()) fail();
  }
  share_.own += budget.work_done() - before;
  return answer;
}

// Reduces the domain. The answer is a proof if nothing is left, and else empty.
RootSearch::Answer RootSearch::begin(const TreeView& view, Budget& budget) {
  const BoundRows& rows = view.rows();
  Domain domain = BoundTree(rows, view.pinned()).domain(0, try_.target, budget);
  DomainReduction reduced =
      reduce_domain(rows, try_.target, domain, parameters_->aggregate, budget);
  fixing_ = std::move(reduced.fixing);
  if (reduced.excluded) {
    SearchedNode node;
    node.kind = SearchedNode::Kind::kExcluded;
    node.leaf.multipliers = std::move(reduced.multipliers);
    node.below = try_.target;
    return proof_of(view, std::move(node));
  }
  if (open_cells(rows, domain) <= parameters_->search.most_root_cells) {
    const double improvement = parameters_->targets.goal_in_gap * parameters_->optimality_gap;
    search_.emplace(rows, try_.target, domain, fixing_, steps_, improvement, *parameters_, budget);
  } else if (!budget.interrupted()) {
    fail();
  }
  return {};
}

RootSearch::Answer RootSearch::proof_of(const TreeView& view, SearchedNode node) const {
  Answer answer;
  answer.found = std::move(node.found);
  if (node.kind != SearchedNode::Kind::kExcluded) return answer;
  node.leaf.fixing = fixing_;
  BoundTree tree(view.rows(), view.pinned());
  tree.close(0, try_.target, std::move(node.leaf), node.steps);
  answer.proved = node.below;
  answer.proof = tree.certificate_nodes(try_.target);
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

void RootSearch::fail() {
  const auto [target, bound, goal] = try_;
  failed_ = std::min(failed_, target);
  if (target == goal) goal_failed_ = goal;
  const NodeSearchParameters& search = parameters_->search;
  if (has_most_steps() || (target == goal && !are_near(bound, goal, goal))) return;
  steps_ = std::min(steps_ * search.root_steps_growth, search.proof_steps);
  goal_failed_ = std::numeric_limits<double>::infinity();
  failed_ = std::numeric_limits<double>::infinity();
}

}  // namespace shardwright::embedding
