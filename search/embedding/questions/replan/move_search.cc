#include "search/embedding/questions/replan/move_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/search/find_plan.h"
#include "core/embedding/caches/check_load_factors.h"
#include "search/embedding/questions/replan/rank_labels.h"

namespace shardwright::embedding {
namespace {

constexpr double kRounding = 1e-12;  // relative, of sums over all tables
constexpr double kLeastGain = 1e-9;  // relative; less is no better
constexpr double kNoPlan = std::numeric_limits<double>::infinity();
// A target above all costs, whose products do not overflow.
constexpr double kAnyCost = 1e30;
// The check proves slightly more than it is asked for, and adds in another order.
constexpr double kProofGap = 3e-9;
constexpr std::uint64_t kCheckSteps = std::uint64_t{1} << 24;  // about 0.2 s
constexpr std::uint64_t kCheckWork = 20'000;                   // what it counts as

std::uint64_t key_of(std::uint64_t seed) {
  constexpr std::uint64_t kSeedFactor = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kOffset = 0x6a09e667f3bcc909ULL;
  return seed * kSeedFactor + kOffset;
}

// Any ranks that the choice may be on; rules and memory are left to the search. A choice of whole
// hosts may have more blocks than there are hosts.
std::vector<Rank> some_ranks(const Choice& choice, std::size_t world_size) {
  std::vector<Rank> ranks;
  if (choice.reach == Reach::kAllRanks) return ranks;
  ranks.assign(choice.num_shards, 0);
  if (choice.reach != Reach::kWholeHosts) return ranks;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    ranks[i] = static_cast<Rank>(i % world_size);
  return ranks;
}

}  // namespace

MoveSearch::MoveSearch(const ChoiceModel& model, const HeldPlan& held, MovesCount moves_count,
                       const Plan& home, std::uint64_t seed, const ReplanMoveParameters& parameters)
    : parameters_(parameters),
      moves_count_(moves_count),
      context_(model),
      held_(held),
      costs_(model, held),
      home_(home_of(home)),
      annealer_(context_, costs_, home_, moves_count, key_of(seed), parameters_),
      price_bound_(context_, costs_),
      state_(context_) {
  starts_.push_back(home_);
  annealer_.offer(home_);
  const bool is_small = model.num_tables() <= parameters.most_tables_of_all_plans &&
                        model.world_size() <= parameters.most_ranks_of_all_plans;
  if (is_small && moves_count == MovesCount::kInCost)
    next_steps_ = parameters.first_steps_of_all_plans;
}

// A table whose option the model lacks begins with the choice of the least load.
Allocation MoveSearch::home_of(const Plan& plan) const {
  const ChoiceModel& model = context_.model();
  if (const std::optional<Allocation> whole = to_allocation(model, plan)) return *whole;
  Allocation home(model.num_tables());
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const std::span<const Choice> choices = model.choices(table);
    const auto least =
        std::min_element(choices.begin(), choices.end(),
                         [](const Choice& a, const Choice& b) { return a.load < b.load; });
    home.choice[table] =
        model.first_choice(table) + static_cast<std::uint32_t>(least - choices.begin());
    home.ranks[table] = some_ranks(*least, model.world_size());
  }
  for (std::size_t i = 0; i < plan.size(); ++i) {
    const std::optional<OptionId> id = model.pool().id_of(plan[i].option);
    if (!id || !model.choice_of(*id)) continue;
    const std::uint32_t choice = *model.choice_of(*id);
    const std::size_t table = model.table_of(choice);
    home.choice[table] = choice;
    home.ranks[table].clear();
    if (model.choices()[choice].reach == Reach::kAllRanks) continue;
    for (std::uint32_t shard = 0; shard < plan[i].option->num_shards(); ++shard)
      home.ranks[table].push_back(plan[i].rank(shard));
  }
  return home;
}

void MoveSearch::offer(const Plan& plan) {
  std::optional<Allocation> allocation = to_allocation(context_.model(), plan);
  if (!allocation) return;
  annealer_.offer(*allocation);
  starts_.push_back(*std::move(allocation));
}

std::uint64_t MoveSearch::work() const {
  return annealer_.work() + other_work_ + parameters_.work_per_update * price_bound_.work();
}

void MoveSearch::spend(Budget& budget) {
  budget.spend(work() - spent_);
  spent_ = work();
}

// Ratings that only break ties with moves leave nothing to prove here but that nothing moves.
bool MoveSearch::is_proved() const {
  if (bound_ == kNoPlan) return true;
  if (!best() || best()->cost * (1 - 2 * kLeastGain) > bound_) return false;
  return moves_count_ == MovesCount::kInCost || best()->moved == 0;
}

void MoveSearch::raise_bound(const Budget& budget) {
  const std::uint64_t step_work = parameters_.work_per_update * price_bound_.step_work();
  auto steps = static_cast<std::uint64_t>(parameters_.price_steps);
  const auto fits = [&] { return budget.work_left(parameters_.bound_part * step_work * steps); };
  while (steps > 0 && (!fits() || steps * step_work > parameters_.most_bound_work))
    steps /= 2;
  if (steps < parameters_.least_price_steps) return;
  price_bound_.raise(best() ? best()->cost : kNoPlan, static_cast<int>(steps), budget);
  bound_ = std::max(bound_, price_bound_.bound() * (1 - kRounding));
}

std::vector<CapacityMultipliers> MoveSearch::multipliers() const {
  std::vector<CapacityMultipliers> multipliers = price_bound_.prices();
  for (Rank rank = 0; rank < multipliers.size(); ++rank)
    multipliers[rank].load *= context_.model().time_scale(rank);
  return multipliers;
}

// By core's engine, which checks the proof as well, with more steps every time.
void MoveSearch::try_all_plans(const Budget& budget) {
  if (next_steps_ == 0) return;
  const ChoiceModel& model = context_.model();
  PlanGoal goal;
  goal.below = best() ? best()->cost * (1 - kLeastGain) : kAnyCost;
  goal.held = &held_;
  goal.improvement = kLeastGain;
  const FoundPlan found =
      find_plan_below(goal, model.pool().space(), model.available(), {multipliers()}, next_steps_,
                      [&] { return budget.interrupted().has_value(); });
  other_work_ += found.steps;
  next_steps_ = next_steps_ < kCheckSteps ? parameters_.step_growth_of_all_plans * next_steps_ : 0;
  if (found.plan) {
    const std::optional<Allocation> allocation = to_allocation(model, *found.plan);
    if (allocation) annealer_.offer(*allocation);
  }
  if (found.answer != FoundPlan::Answer::kNoneExists) return;
  bound_by_all_ = found.below == kAnyCost ? kNoPlan : found.below;
  bound_ = std::max(bound_, bound_by_all_);
  next_steps_ = 0;
}

// Without a feasible allocation, broken rules weigh more and more against moves.
double MoveSearch::scale() const {
  if (best()) return best()->cost;
  return (state_.max_load() + rating_bound_) * std::pow(parameters_.scale_growth, rounds_);
}

void MoveSearch::cool(const Budget& budget) {
  const std::size_t round = rounds_++;
  const bool from_best = best() && round % parameters_.starts_one_in != 0;
  const Allocation start =
      from_best ? best()->allocation : starts_[round / parameters_.starts_one_in % starts_.size()];
  state_.assign(start);
  MoveAnnealer::Cooling cooling;
  cooling.scale = scale();
  const double top = best() ? std::min(state_.max_load(), best()->cost) : state_.max_load();
  const double part = parameters_.targets[round % parameters_.targets.size()];
  cooling.target = rating_bound_ + part * std::max(top - rating_bound_, 0.0);
  cooling.hot = parameters_.hot[round % parameters_.hot.size()] * cooling.scale;
  cooling.cold = parameters_.cold * cooling.scale;
  const std::size_t size = context_.model().num_tables() + context_.model().world_size();
  const double steps = static_cast<double>(parameters_.first_steps * size) *
                       std::pow(parameters_.step_growth, static_cast<double>(round));
  cooling.steps =
      static_cast<std::uint64_t>(std::min(steps, static_cast<double>(parameters_.most_steps)));
  annealer_.cool(start, cooling, budget);
}

// Nothing if that would take too long: nothing in it hears a stop.
std::optional<Allocation> MoveSearch::relabelled(const Allocation& allocation,
                                                 const Budget& budget) {
  const std::uint64_t work = label_work(context_.model(), allocation);
  if (work > parameters_.most_label_work || !budget.work_left(work)) return std::nullopt;
  other_work_ += work;
  return relabel_ranks(context_.model(), costs_, allocation);
}

// A plan that was found without regard to the old one has its loads on any of the equal ranks.
void MoveSearch::relabel_starts(Budget& budget) {
  for (std::size_t i = 1; i < starts_.size() && !budget.interrupted(); ++i) {
    std::optional<Allocation> labelled = relabelled(starts_[i], budget);
    if (!labelled) continue;
    annealer_.offer(*labelled);
    state_.assign(*labelled);
    if (state_.all_good()) starts_[i] = *std::move(labelled);
    spend(budget);
  }
}

void MoveSearch::relabel_best(const Budget& budget) {
  if (!best() || (labelled_cost_ && best()->cost >= *labelled_cost_)) return;
  const std::optional<Allocation> labelled = relabelled(best()->allocation, budget);
  if (labelled) annealer_.offer(*labelled);
  labelled_cost_ = best()->cost;
}

void MoveSearch::run(double rating_bound, Budget& budget) {
  if (std::isfinite(rating_bound)) bound_ = rating_bound;
  rating_bound_ = std::max(bound_, context_.bound());
  relabel_starts(budget);
  if (moves_count_ == MovesCount::kInCost) raise_bound(budget);
  spend(budget);
  while (!is_proved() && budget.work_left() && !budget.interrupted()) {
    try_all_plans(budget);
    spend(budget);
    if (is_proved() || !budget.work_left() || budget.interrupted()) break;
    cool(budget);
    relabel_best(budget);
    spend(budget);
  }
}

MoveProof MoveSearch::prove(double rating_bound, Budget& budget) const {
  const ChoiceModel& model = context_.model();
  MoveProof proof;
  if (std::isfinite(rating_bound)) proof.bound = rating_bound;
  BoundCertificate certificate;
  certificate.by_search = true;
  certificate.class_of_rank.resize(model.world_size());
  std::iota(certificate.class_of_rank.begin(), certificate.class_of_rank.end(), 0U);
  certificate.nodes.emplace_back().multipliers = multipliers();
  certificate.load_factors = load_factors_of(model.pool().space());
  for (const double bound : {bound_by_all_, price_bound_.bound()}) {
    if (budget.interrupted()) break;
    certificate.bound = bound * (1 - kProofGap);
    if (!(certificate.bound > proof.bound) || !std::isfinite(bound)) continue;
    budget.spend(kCheckWork);
    const auto is_stopped = [&] { return budget.interrupted().has_value(); };
    if (check_move_bound(model.pool().space(), model.available(), held_, certificate, kCheckSteps,
                         is_stopped))
      continue;
    proof.bound = certificate.bound;
    proof.certificate = certificate;
    break;
  }
  return proof;
}

}  // namespace shardwright::embedding
