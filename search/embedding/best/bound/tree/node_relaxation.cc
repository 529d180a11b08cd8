#include "search/embedding/best/bound/tree/node_relaxation.h"

#include <utility>

namespace shardwright::embedding {

void NodeRelaxation::begin(double target, Domain domain, std::uint64_t work, bool may_divide) {
  target_ = target;
  work_ = work;
  may_divide_ = may_divide;
  domain_ = std::move(domain);
}

void NodeRelaxation::abandon() {
  columns_.abandon();
  domain_.reset();
}

std::optional<NodeAnswer> NodeRelaxation::step(Budget& budget) {
  if (!columns_.is_active()) {
    if (std::optional<NodeAnswer> reduced = reduce(budget)) return end(std::move(*reduced));
    columns_.begin(target_, *domain_, work_);
    return std::nullopt;
  }
  std::optional<RelaxationAnswer> found = columns_.iterate(budget);
  if (!found) return std::nullopt;
  return end(answer(std::move(*found)));
}

NodeAnswer NodeRelaxation::end(NodeAnswer answer) {
  answer.proof.fixing = std::move(fixing_);
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
  if (!may_divide_ || found.plan.shares.empty()) return std::nullopt;
  std::optional<Branch> branch =
      branching_->choose_large(*domain_, columns_.kinds().groups(*domain_), found.plan, target_,
                               parameters_->branching.large_separation);
  if (!branch) return std::nullopt;
  answer.kind = NodeAnswer::Kind::kDivided;
  answer.branch = std::move(*branch);
  answer.plan = std::move(found.plan);
  return answer;
}

NodeAnswer NodeRelaxation::answer(RelaxationAnswer found) const {
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
  if (!branch) return answer;
  answer.kind = NodeAnswer::Kind::kDivided;
  answer.branch = std::move(*branch);
  return answer;
}

}  // namespace shardwright::embedding
