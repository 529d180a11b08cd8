#include "search/embedding/best/bound/root_search.h"

#include <algorithm>
#include <utility>

#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/bound/tree/bound_tree.h"

namespace shardwright::embedding {

RootSearch::Answer RootSearch::run(const TreeView& view, double goal, Budget& budget) {
  const std::uint64_t before = budget.work_done();
  const BoundRows& rows = view.rows();
  BoundTree tree(rows, view.pinned());
  Domain domain = tree.domain(0, goal, budget);
  DomainReduction reduced = reduce_domain(rows, goal, domain, parameters_->aggregate, budget);
  Answer answer;
  SearchedNode node;
  if (reduced.excluded) {
    node.kind = SearchedNode::Kind::kExcluded;
    node.leaf.multipliers = std::move(reduced.multipliers);
  } else if (open_cells(rows, domain) > parameters_->search.most_root_cells) {
    ended_ = goal * (1 - parameters_->rating_fall);
  } else {
    node = search_node(rows, goal, domain, reduced.fixing, next_steps(goal), parameters_->search,
                       budget);
    if (node.kind == SearchedNode::Kind::kUnknown) note_failure(goal, {node.steps, node.progress});
  }
  share_.own += budget.work_done() - before;
  if (node.kind == SearchedNode::Kind::kUnknown) return answer;
  ended_ = goal;
  answer.found = std::move(node.found);
  if (answer.found) return answer;
  node.leaf.fixing = std::move(reduced.fixing);
  tree.close(0, goal, std::move(node.leaf), node.steps);
  answer.proof = tree.certificate_nodes(goal);
  return answer;
}

std::uint64_t RootSearch::next_steps(double goal) const {
  const NodeSearchParameters& search = parameters_->search;
  if (goal != goal_) return std::min(search.first_root_steps, search.proof_steps);
  const std::uint64_t second = 2 * search.first_root_steps;
  return last_.steps < second ? std::min(second, search.proof_steps) : search.proof_steps;
}

void RootSearch::note_failure(double goal, const Try& own) {
  const bool is_first = goal != goal_;
  const bool was_last = own.steps >= parameters_->search.proof_steps;
  if (was_last || (!is_first && !may_end(own))) ended_ = goal;
  goal_ = goal;
  last_ = own;
}

// Branches differ much in size, and the first ones are often the largest: the search may seem to
// need many times the steps that it has.
bool RootSearch::may_end(const Try& own) const {
  const NodeSearchParameters& search = parameters_->search;
  const double gain = own.progress - last_.progress;
  const auto steps = static_cast<double>(own.steps - last_.steps);
  return (1 - own.progress) * steps <=
         gain * search.root_optimism * static_cast<double>(search.proof_steps);
}

}  // namespace shardwright::embedding
