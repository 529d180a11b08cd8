#include "search/embedding/best/bound/ranks/rank_proof.h"

#include <utility>
#include <vector>

#include "search/embedding/best/bound/relaxation/domain_reduction.h"
#include "search/embedding/best/bound/relaxation/node_search.h"
#include "search/embedding/best/bound/tree/pins.h"

namespace shardwright::embedding {
namespace {

// Multipliers by class for every rank.
std::vector<CapacityMultipliers> by_rank(const std::vector<CapacityMultipliers>& multipliers,
                                         const RankClasses& classes) {
  std::vector<CapacityMultipliers> own;
  for (const std::uint32_t rank_class : classes.class_of_rank())
    own.push_back(multipliers[rank_class]);
  return own;
}

}  // namespace

RankProof::RankProof(const ChoiceModel& model, const BoundParameters& parameters)
    : model_(&model), parameters_(&parameters), is_possible_(RankModel::is_possible(model)) {}

bool RankProof::has_next(double goal) const {
  if (!is_possible_) return false;
  return goal < planted_ * (1 - parameters_->ranks.replant_fall) || (tree_ && !tree_->has_ended());
}

void RankProof::run(const BoundRows& rows, std::uint64_t work, Budget& budget) {
  const std::uint64_t end = budget.work_done() + work;
  if (!is_possible_ || bound_ >= goal_) return;
  if (goal_ < planted_ * (1 - parameters_->ranks.replant_fall)) plant(rows, budget);
  if (!tree_) return;
  if (goal_ < tree_->target()) tree_->lower_target(goal_);
  while (!tree_->has_ended() && budget.work_done() < end && !budget.interrupted())
    tree_->step(budget);
  if (std::optional<Plan> found = tree_->take_found()) found_ = std::move(found);
  tree_bound_ = tree_->bound();
  const bool is_goal = tree_bound_ >= tree_->target();
  if (is_goal ? tree_bound_ > bound_ : tree_bound_ - bound_ > parameters_->ranks.least_step * goal_)
    proof_ = tree_->certificate();
}

void RankProof::plant(const BoundRows& rows, Budget& budget) {
  const double goal = goal_;
  tree_.reset();
  planted_ = goal;
  Domain domain = root_domain(rows, goal);
  const DomainReduction reduced = reduce_domain(rows, goal, domain, parameters_->aggregate, budget);
  MultiplierList prices;
  for (const auto& multipliers : reduced.fixing)
    prices.push_back(by_rank(multipliers, rows.classes()));
  prices.push_back(by_rank(reduced.multipliers, rows.classes()));
  if (open_cells(rows, domain) > parameters_->ranks.most_cells) return;
  tree_ = std::make_unique<RankTree>(*model_, goal, prices, *parameters_, budget);
  if (tree_->open_cells() > parameters_->ranks.most_cells) tree_.reset();
}

}  // namespace shardwright::embedding
