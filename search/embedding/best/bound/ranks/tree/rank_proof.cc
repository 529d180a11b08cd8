#include "search/embedding/best/bound/ranks/tree/rank_proof.h"

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
    : model_(&model),
      parameters_(&parameters),
      is_possible_(parameters.methods.rank_tree && RankModel::is_possible(model)) {}

bool RankProof::has_next(double goal) const { return is_to_be_planted(goal) || is_growing(); }

void RankProof::begin_round(double bound, double goal) {
  bound_ = bound;
  goal_ = goal;
  plants_ = bound_ < goal_ && (is_to_be_planted(goal_) || has_learned());
  num_busy_ = plants_ ? 1 : 0;
  if (bound_ >= goal_ || plants_ || !is_growing()) return;
  if (goal_ < tree_->target()) tree_->lower_target(goal_);
  tree_->begin_round();
  num_busy_ = tree_->num_busy_lanes();
}

void RankProof::run_lane(std::size_t lane, const BoundRows& rows, std::uint64_t work,
                         Budget& budget) {
  if (lane >= num_busy_) return;
  const std::uint64_t before = budget.work_done();
  const std::uint64_t end = before + work;
  if (plants_) {
    plant(rows, budget);
    if (tree_) tree_->begin_round();
  }
  if (tree_ && budget.work_done() < end) tree_->run_lane(lane, end - budget.work_done(), budget);
  work_ += budget.work_done() - before;
}

bool RankProof::is_rising() const {
  if (!tree_ || !is_ahead()) return false;
  if (tree_->check_steps() > parameters_->ranks.most_goal_check_steps) return false;
  const bool is_half_done = tree_bound_ - bound_ >= (tree_->target() - bound_) / 2;
  return is_half_done || work_ < 2 * progress_.work;
}

void RankProof::end_round() {
  if (!tree_) return;
  tree_->end_round();
  if (std::optional<Plan> found = tree_->take_found()) found_ = std::move(found);
  tree_bound_ = tree_->bound();
  const double step = parameters_->ranks.least_step * (tree_->target() - bound_);
  note_progress(step);
  if (!is_step(tree_bound_, step)) return;
  double proved = tree_->bound_within(parameters_->ranks.most_check_steps);
  is_long_ = proved < tree_->target() &&
             tree_->bound_within(parameters_->ranks.most_goal_check_steps) >= tree_->target();
  if (is_long_) proved = tree_->target();
  if (!is_step(proved, step)) return;
  proof_ = tree_->certificate(proved);
}

// By its lowest bound, or by what is closed: where loads are nearly even, bounds rise at the end.
void RankProof::note_progress(double step) {
  const double open_part = 1 - tree_->closed_part();
  const double most = (1 - parameters_->ranks.least_part) * progress_.open_part;
  if (tree_bound_ > progress_.bound + step || open_part < most)
    progress_ = {work_, tree_bound_, open_part};
}

bool RankProof::is_step(double bound, double step) const {
  return bound > bound_ && (bound >= tree_->target() || bound - bound_ > step);
}

void RankProof::plant(const BoundRows& rows, Budget& budget) {
  const double goal = goal_;
  tree_bound_ = 0;
  work_ = 0;
  progress_ = {0, bound_, 1};
  is_trial_ = !has_learned() && (is_trial_ || !tree_);
  // Gains of the nodes below tell which divisions to try out at the top, not what they gain there.
  RankExperience known = tree_ ? tree_->known().tried_once() : RankExperience();
  tree_.reset();
  planted_ = goal;
  Domain domain = root_domain(rows, goal);
  const DomainReduction reduced = reduce_domain(rows, goal, domain, parameters_->aggregate, budget);
  MultiplierList prices;
  for (const auto& multipliers : reduced.fixing)
    prices.push_back(by_rank(multipliers, rows.classes()));
  prices.push_back(by_rank(reduced.multipliers, rows.classes()));
  if (open_cells(rows, domain) > parameters_->ranks.most_cells) return;
  tree_ = std::make_unique<RankTree>(*model_, goal, prices, std::move(known), *parameters_, budget);
  if (tree_->open_cells() > parameters_->ranks.most_cells) tree_.reset();
}

}  // namespace shardwright::embedding
