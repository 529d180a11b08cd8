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

RankProof::Answer RankProof::run(const BoundRows& rows, double bound, double goal,
                                 Budget& budget) {
  const std::uint64_t before = budget.work_done();
  Answer answer;
  if (goal < planted_ * (1 - parameters_->ranks.replant_fall)) plant(rows, goal, budget);
  if (tree_) {
    if (goal < tree_->target()) tree_->lower_target(goal);
    while (!tree_->has_ended() && !budget.interrupted() &&
           budget.work_done() - before < work_of_part())
      tree_->step(budget);
    answer.found = tree_->take_found();
    const double proved = tree_->bound();
    const bool is_all = proved >= tree_->target();
    if (is_all ? proved > bound : proved - bound > parameters_->ranks.least_step * goal)
      answer.proof = tree_->certificate();
  }
  share_.own += budget.work_done() - before;
  return answer;
}

void RankProof::plant(const BoundRows& rows, double goal, Budget& budget) {
  tree_.reset();
  planted_ = goal;
  Domain domain = root_domain(rows, goal);
  const DomainReduction reduced =
      reduce_domain(rows, goal, domain, parameters_->aggregate, budget);
  MultiplierList prices;
  for (const auto& multipliers : reduced.fixing)
    prices.push_back(by_rank(multipliers, rows.classes()));
  prices.push_back(by_rank(reduced.multipliers, rows.classes()));
  if (open_cells(rows, domain) > parameters_->ranks.most_cells) return;
  tree_ = std::make_unique<RankTree>(*model_, goal, prices, *parameters_, budget);
  if (tree_->open_cells() > parameters_->ranks.most_cells) tree_.reset();
}

}  // namespace shardwright::embedding
