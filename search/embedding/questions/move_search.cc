#include "search/embedding/questions/move_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/plan_search.h"
#include "core/embedding/load_factors.h"
#include "search/embedding/questions/move_costs.h"

namespace shardwright::embedding {
namespace {

constexpr double kNoPlace = std::numeric_limits<double>::infinity();
constexpr double kShrink = 0.7;  // factor of the step after kPatience steps without a better bound
constexpr int kPatience = 5;

// Moves the prices of loads to the nearest prices that are not negative and add up to 1.
// Source: Held, Wolfe, Crowder 1974, "Validation of subgradient optimization".
void project_loads(PriceBound::Prices& prices) {
  std::vector<double> sorted;
  for (const CapacityMultipliers& multipliers : prices)
    sorted.push_back(multipliers.load);
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double shift = 0;
  double total = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    total += sorted[i];
    const double at = (total - 1) / static_cast<double>(i + 1);
    if (sorted[i] > at) shift = at;
  }
  double sum = 0;
  for (CapacityMultipliers& own : prices) {
    own.load = std::max(own.load - shift, 0.0);
    sum += own.load;
  }
  // Rounding may leave the sum above 1.
  if (sum <= 1) return;
  for (CapacityMultipliers& own : prices)
    own.load /= sum * (1 + 4 * std::numeric_limits<double>::epsilon());
}

PerTier<double> capacity_of(const Storage& room) { return as_doubles(most_of(room, Storage())); }

}  // namespace

PriceBound::PriceBound(const SearchContext& context, const MoveCosts& costs)
    : context_(&context), costs_(&costs), prices_(context.model().world_size()) {}

// The priced cost of the shard on the rank plus the cost of its move; infinite if it may not be
// there.
double PriceBound::price(std::uint32_t choice, std::uint32_t shard, Rank rank,
                         const Prices& prices) const {
  const ChoiceModel& model = context_->model();
  const ShardUse& use = context_->shards(choice)[shard];
  if (use.storage != Storage() && !use.storage.fits_in(model.room()[rank])) return kNoPlace;
  if (use.table != ShardUse::kUnruled) {
    const RankSet* const allowed = model.rules().allowed(model.table(use.table), shard);
    if (allowed != nullptr && !allowed->contains(rank)) return kNoPlace;
  }
  return add_priced(prices[rank].load * model.time_scale(rank) * use.load, prices[rank],
                    as_doubles(use.storage)) +
         costs_->cost(choice, shard, rank);
}

// Puts each shard of the choice on the cheapest of the ranks [first, end), or each block of a
// choice of whole hosts on the cheapest host. Returns the priced cost and sets `ranks`.
double PriceBound::least_in(std::uint32_t choice, Rank first, Rank end, const Prices& prices,
                            std::vector<Rank>& ranks) {
  const ChoiceModel& model = context_->model();
  const Choice& chosen = model.choices()[choice];
  const std::uint32_t width = chosen.reach == Reach::kWholeHosts ? model.local_world_size() : 1;
  double sum = 0;
  ranks.clear();
  for (std::uint32_t shard = 0; shard < chosen.num_shards && sum < kNoPlace; shard += width) {
    double least = kNoPlace;
    Rank best = first;
    for (Rank rank = first; rank + width <= end; rank += width) {
      double here = 0;
      for (std::uint32_t k = 0; k < width; ++k)
        here += price(choice, shard + k, rank + k, prices);
      if (here >= least) continue;
      least = here;
      best = rank;
    }
    work_ += end - first;
    sum += least;
    for (std::uint32_t k = 0; k < width; ++k)
      ranks.push_back(best + k);
  }
  return sum;
}

// Returns the least priced cost of the choice on all ranks where it may be. Sets ranks_.
double PriceBound::least(std::uint32_t choice, const Prices& prices) {
  const ChoiceModel& model = context_->model();
  const Choice& chosen = model.choices()[choice];
  const std::uint32_t local = model.local_world_size();
  double least = kNoPlace;
  ranks_.clear();
  switch (chosen.reach) {
    case Reach::kAllRanks: {
      least = costs_->cost(choice, {});
      Rank rank = 0;
      for (const ChoiceRun& run : model.runs(chosen)) {
        for (std::uint32_t k = 0; k < run.count; ++k, ++rank)
          least += add_priced(prices[rank].load * model.time_scale(rank) * run.load, prices[rank],
                              as_doubles(run.storage));
      }
      work_ += model.world_size();
      return least;
    }
    case Reach::kDevice:
      return least_in(choice, 0, model.world_size(), prices, ranks_);
    case Reach::kWholeHosts:
      return least_in(choice, 0, model.num_hosted_ranks(), prices, ranks_);
    case Reach::kHost:
      break;
  }
  for (Rank first = 0; first < model.num_hosted_ranks(); first += local) {
    const double here = least_in(choice, first, first + local, prices, trial_);
    if (here >= least) continue;
    least = here;
    ranks_ = trial_;
  }
  return least;
}

// Adds load and bytes of the choice on best_ranks_ to `use`.
void PriceBound::take(std::uint32_t choice, Use& use) const {
  const ChoiceModel& model = context_->model();
  const Choice& chosen = model.choices()[choice];
  const auto add = [&](Rank rank, double load, const Storage& storage) {
    use[rank].load += load * model.time_scale(rank);
    const PerTier<double> bytes = as_doubles(storage);
    for (const MemoryTier tier : kMemoryTiers)
      use[rank].bytes[tier] += bytes[tier];
  };
  if (chosen.reach == Reach::kAllRanks) {
    Rank rank = 0;
    for (const ChoiceRun& run : model.runs(chosen)) {
      for (std::uint32_t k = 0; k < run.count; ++k)
        add(rank++, run.load, run.storage);
    }
    return;
  }
  const std::span<const ShardUse> uses = context_->shards(choice);
  for (std::size_t shard = 0; shard < uses.size(); ++shard)
    add(best_ranks_[shard], uses[shard].load, uses[shard].storage);
}

double PriceBound::bound_at(const Prices& prices, Use& use, const Budget& budget) {
  const ChoiceModel& model = context_->model();
  use.assign(model.world_size(), {});
  double bound = 0;
  for (Rank rank = 0; rank < model.world_size(); ++rank)
    bound -= add_priced(0, prices[rank], capacity_of(model.room()[rank]));
  for (std::uint32_t table = 0; table < model.num_tables(); ++table) {
    if (budget.interrupted()) return -kNoPlace;
    double least = kNoPlace;
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if (!context_->fits(choice)) continue;
      const double here = this->least(choice, prices);
      if (here >= least) continue;
      least = here;
      best = choice;
      best_ranks_ = ranks_;
    }
    if (least == kNoPlace) return kNoPlace;
    take(best, use);
    bound += least;
  }
  return bound;
}

// Polyak's subgradient step, with separate lengths for loads and for bytes.
void PriceBound::step(const Use& use, double gap, Prices& prices) const {
  const std::span<const Storage> room = context_->model().room();
  const std::size_t ranks = use.size();
  std::vector<PerTier<double>> over(ranks);
  double loads = 0;
  double bytes = 0;
  double mean = 0;
  for (const RankUse& own : use)
    mean += own.load / static_cast<double>(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    loads += (use[rank].load - mean) * (use[rank].load - mean);
    const PerTier<double> capacity = capacity_of(room[rank]);
    for (const MemoryTier tier : kMemoryTiers) {
      const double excess = use[rank].bytes[tier] - capacity[tier];
      if (excess >= 0 || prices[rank][tier] != 0) over[rank][tier] = excess;
    }
    bytes += add_priced(0, over[rank], over[rank]);
  }
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    if (loads > 0) prices[rank].load += gap * (use[rank].load - mean) / loads;
    for (const MemoryTier tier : kMemoryTiers) {
      if (bytes > 0)
        prices[rank][tier] = std::max(prices[rank][tier] + gap * over[rank][tier] / bytes, 0.0);
    }
  }
  project_loads(prices);
}

std::uint64_t PriceBound::step_work() const {
  const std::uint64_t world = context_->model().world_size();
  std::uint64_t work = 0;
  for (const Choice& choice : context_->model().choices())
    work += choice.reach == Reach::kAllRanks ? world : choice.num_shards * world;
  return work;
}

void PriceBound::raise(double target, int steps, const Budget& budget) {
  Prices now = prices_;
  project_loads(now);
  Use use;
  double best = -kNoPlace;
  double length = 1;
  int idle = 0;
  for (int i = 0; i < steps && best < target && !budget.interrupted(); ++i) {
    const double bound = bound_at(now, use, budget);
    if (bound > best) {
      best = bound;
      prices_ = now;
      idle = 0;
      if (bound == kNoPlace) break;
    } else if (++idle == kPatience) {
      idle = 0;
      length *= kShrink;
      now = prices_;
      bound_at(now, use, budget);
    }
    const double most =
        std::max_element(use.begin(), use.end(), [](const RankUse& a, const RankUse& b) {
          return a.load < b.load;
        })->load;
    step(use, length * (std::min(target, best + most) - best), now);
  }
  bound_ = std::max(best, bound_);
}

namespace {

constexpr double kPriceRounding = 1e-12;  // relative rounding error of sums over all tables
constexpr double kLeastGain = 1e-9;       // relative; a smaller gain does not count
constexpr double kNoPlan = std::numeric_limits<double>::infinity();
// A target above all costs, small enough for products.
constexpr double kAnyCost = 1e30;
// Relative margin of a claimed bound, because the check adds in another order and proves slightly
// more.
constexpr double kProofGap = 3e-9;
constexpr std::uint64_t kCheckSteps = std::uint64_t{1} << 24;  // about 0.2 s
constexpr std::uint64_t kCheckWork = 20'000;                   // work of a check

std::uint64_t key_of(std::uint64_t seed) {
  constexpr std::uint64_t kSeedFactor = 0x9e3779b97f4a7c15ULL;
  constexpr std::uint64_t kOffset = 0x6a09e667f3bcc909ULL;
  return seed * kSeedFactor + kOffset;
}

// Returns ranks for the choice, regardless of rules and memory. A choice of whole hosts may have
// more blocks than there are hosts.
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

// Returns the plan as an allocation. A table whose option the model lacks gets the choice of the
// least load.
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

// With MovesCount::kAmongEqual, the best allocation is proved only if nothing moves.
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
  bound_ = std::max(bound_, price_bound_.bound() * (1 - kPriceRounding));
}

std::vector<CapacityMultipliers> MoveSearch::multipliers() const {
  std::vector<CapacityMultipliers> multipliers = price_bound_.prices();
  for (Rank rank = 0; rank < multipliers.size(); ++rank)
    multipliers[rank].load *= context_.model().time_scale(rank);
  return multipliers;
}

// Searches all plans with core's engine, with more steps in every call.
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

// Returns Cooling::scale. It grows while no feasible allocation is known, so that broken rules
// weigh more and more.
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

// Returns relabel_ranks(), which cannot be interrupted; nothing if it would take too long.
std::optional<Allocation> MoveSearch::relabelled(const Allocation& allocation,
                                                 const Budget& budget) {
  const std::uint64_t work = label_work(context_.model(), allocation);
  if (work > parameters_.most_label_work || !budget.work_left(work)) return std::nullopt;
  other_work_ += work;
  return relabel_ranks(context_.model(), costs_, allocation);
}

// Relabels all starts except the old plan, because other plans use equal ranks in any order.
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
