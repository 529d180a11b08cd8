#include "search/embedding/best/bound/tree/node_relaxation.h"

#include <algorithm>
#include <utility>

#include "search/embedding/best/bound/relaxation/node_search.h"

namespace shardwright::embedding {

void NodeRelaxation::begin(double target, Domain domain, std::uint64_t work,
                           std::optional<std::uint64_t> search_steps) {
  if (target > target_) leaf_steps_ = parameters_->search.leaf_steps;
  target_ = target;
  work_ = work;
  search_steps_ = search_steps;
  was_searched_ = false;
  domain_ = std::move(domain);
}

void NodeRelaxation::abandon() {
  columns_.abandon();
  domain_.reset();
}

std::optional<NodeAnswer> NodeRelaxation::step(Budget& budget) {
  if (!columns_.is_active()) {
    if (std::optional<NodeAnswer> reduced = reduce(budget)) return end(std::move(*reduced));
    was_searched_ = search_steps_.value_or(0) > 0;
    if (was_searched_) {
      if (auto tried = try_all_plans(*search_steps_, budget)) return end(*std::move(tried));
    }
    columns_.begin(target_, *domain_, work_);
    return std::nullopt;
  }
  std::optional<RelaxationAnswer> found = columns_.iterate(budget);
  if (!found) return std::nullopt;
  return end(answer(std::move(*found), budget));
}

NodeAnswer NodeRelaxation::end(NodeAnswer answer) {
  answer.proof.fixing = std::move(fixing_);
  answer.was_searched = was_searched_;
  answered_ = std::move(*domain_);
  domain_.reset();
  return answer;
}

std::optional<NodeAnswer> NodeRelaxation::reduce(Budget& budget) {
  DomainReduction found = reduce_domain(*rows_, target_, *domain_, parameters_->aggregate, budget);
  fixing_ = std::move(found.fixing);
  NodeAnswer answer;
  if (found.excluded) {
    answer.kind = NodeAnswer::Kind::kExcluded;
    answer.proof.multipliers = std::move(found.multipliers);
    return answer;
  }
  if (!search_steps_ || found.plan.shares.empty()) return std::nullopt;
  std::optional<Branch> branch =
      branching_->choose_large(*domain_, rows_->kinds().groups(*domain_), found.plan, target_,
                               rows_->pinned().empty() ? parameters_->branching.large_separation
                                                       : parameters_->branching.pinned_separation);
  if (!branch) return std::nullopt;
  answer.kind = NodeAnswer::Kind::kDivided;
  answer.branch = std::move(*branch);
  answer.plan = std::move(found.plan);
  return answer;
}

// Returns nothing if the search is too large or gives up.
std::optional<NodeAnswer> NodeRelaxation::try_all_plans(std::uint64_t most_steps,
                                                        Budget& budget) const {
  const NodeSearchParameters& search = parameters_->search;
  if (open_cells(*rows_, *domain_) > search.most_cells) return std::nullopt;
  SearchedNode node =
      search_node(*rows_, target_, *domain_, fixing_, most_steps, 0, search, budget);
  if (node.kind == SearchedNode::Kind::kUnknown) return std::nullopt;
  NodeAnswer answer;
  answer.found = std::move(node.found);
  if (answer.found) return answer;
  answer.kind = NodeAnswer::Kind::kExcluded;
  answer.proof = std::move(node.leaf);
  answer.search_steps = node.steps;
  return answer;
}

// Nothing divides the node. Such a search fails at every lower target for the same reason, mostly.
std::optional<NodeAnswer> NodeRelaxation::try_leaf(Budget& budget) {
  std::optional<NodeAnswer> tried = try_all_plans(leaf_steps_, budget);
  if (!tried) leaf_steps_ = std::max(leaf_steps_ / 2, parameters_->search.least_leaf_steps);
  return tried;
}

NodeAnswer NodeRelaxation::answer(RelaxationAnswer found, Budget& budget) {
  NodeAnswer answer;
  answer.plan = std::move(found.plan);
  answer.was_cut_short = found.kind == RelaxationAnswer::Kind::kUnknown;
  if (found.kind == RelaxationAnswer::Kind::kInfeasible) {
    answer.kind = NodeAnswer::Kind::kExcluded;
    answer.proof = std::move(found.leaf);
    return answer;
  }
  if (answer.plan.shares.empty()) return answer;
  std::optional<Branch> branch =
      branching_->choose(*domain_, columns_.groups(), answer.plan, target_);
  if (!branch) {
    std::optional<NodeAnswer> tried;
    if (search_steps_) tried = try_leaf(budget);
    return tried ? *std::move(tried) : answer;
  }
  answer.kind = NodeAnswer::Kind::kDivided;
  answer.branch = std::move(*branch);
  return answer;
}

}  // namespace shardwright::embedding
