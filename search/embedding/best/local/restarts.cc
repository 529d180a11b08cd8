#include "search/embedding/best/local/restarts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "search/embedding/model/context/priced_choices.h"

namespace shardwright::embedding {
namespace {

// The most that any single rank holds.
struct Held {
  double load = 0;
  Storage storage;
};

Held largest_shard(const ChoiceModel& model, const Choice& choice) {
  Held most;
  for (const ChoiceRun& run : model.runs(choice)) {
    most.load = std::max(most.load, run.load);
    most.storage = most_of(most.storage, run.storage);
  }
  return most;
}

Storage largest_room(const ChoiceModel& model) {
  Storage most;
  for (const Storage& room : model.room())
    most = most_of(most, room);
  return most;
}

Held on_all_ranks(const ChoiceModel& model, const std::vector<std::uint32_t>& chosen) {
  Held sum;
  for (const std::uint32_t index : chosen) {
    const Choice& choice = model.choices()[index];
    if (choice.reach != Reach::kAllRanks) continue;
    const Held own = largest_shard(model, choice);
    sum.load += own.load;
    sum.storage += own.storage;
  }
  return sum;
}

constexpr double kTinyRating = 1e-300;  // keeps quotients finite
constexpr double kRounding = 1e-9;      // relative, so that the best allocation's choices stay

}  // namespace

std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor,
                                                        const ConstructParameters& parameters,
                                                        const Budget* budget) {
  const ChoiceModel& model = context.model();
  const Storage room = largest_room(model);
  PricedChoices priced(context, budget);
  Held everywhere;
  for (int round = 0; round < parameters.most_agreement_rounds; ++round) {
    priced.admit([&](const Choice& choice) {
      const Held own = largest_shard(model, choice);
      if (choice.reach == Reach::kAllRanks) return context.fastest(own.load) < target;
      return context.fastest(own.load + everywhere.load) < target &&
             (own.storage + everywhere.storage).fits_in(room);
    });
    MemoryPrices prices;
    const double bound = priced.fit_prices(parameters.price_steps, prices);
    if (budget != nullptr && budget->interrupted()) return std::nullopt;
    if (bound > target || bound == std::numeric_limits<double>::infinity()) return std::nullopt;
    for (const MemoryTier tier : kMemoryTiers)
      prices[tier] *= price_factor;
    std::vector<std::uint32_t> chosen = priced.cheapest(prices);
    const Held now = on_all_ranks(model, chosen);
    if (now.load <= everywhere.load && now.storage.fits_in(everywhere.storage)) return chosen;
    everywhere = now;
  }
  return std::nullopt;
}

// How even an allocation is.
struct Restarts::Evenness {
  double excess = 0;          // of the largest load over the mean one, as a factor
  std::uint32_t singles = 0;  // shards of choices on single ranks, on the busiest rank
};

// The allocations constructed so far.
struct Restarts::Start {
  struct Tried {
    std::vector<std::uint32_t> choices;
    Evenness evenness;
  };

  Allocation best;
  double least = std::numeric_limits<double>::infinity();
  double bound = 0;
  double limit = 0;   // of the best one's shards, in bounds
  Evenness evenness;  // of the best one
  std::vector<Tried> tried;
};

Restarts::Evenness Restarts::evenness_of(const Allocation& made) const {
  const std::span<const RankLoad> ranks = state_->ranks();
  std::size_t busiest = 0;
  double sum = 0;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    sum += ranks[rank].load;
    if (ranks[rank].load > ranks[busiest].load) busiest = rank;
  }
  Evenness found;
  const double mean = sum / static_cast<double>(ranks.size());
  found.excess = ranks[busiest].load / std::max(mean, kTinyRating);
  for (std::size_t table = 0; table < made.choice.size(); ++table) {
    if (state_->model().choices()[made.choice[table]].reach != Reach::kDevice) continue;
    found.singles += static_cast<std::uint32_t>(
        std::count(made.ranks[table].begin(), made.ranks[table].end(), busiest));
  }
  return found;
}

// Returns nothing if it was stopped. Choices that were tried before are not placed again.
std::optional<Restarts::Evenness> Restarts::attempt(Start& start, double limit,
                                                    const ChoiceCost& cost, StopCheck& stopped) {
  constexpr std::size_t kChoicesPerUpdate = 2;
  if (stopped()) return std::nullopt;
  std::vector<std::uint32_t> choices = choose_priced(state_->context(), start.bound * limit, cost);
  std::uint64_t work = state_->pass_work() + state_->model().choices().size() / kChoicesPerUpdate;
  const auto same = std::find_if(start.tried.begin(), start.tried.end(),
                                 [&](const Start::Tried& own) { return own.choices == choices; });
  if (same != start.tried.end()) {
    annealer_->placer().spend(work);
    return same->evenness;
  }
  std::optional<Allocation> made =
      construct(*state_, annealer_->random(), Allocation::of_choices(choices),
                parameters_->construct, work, stopped);
  annealer_->placer().spend(work);
  if (!made) return std::nullopt;
  const Evenness evenness = evenness_of(*made);
  start.tried.push_back({std::move(choices), evenness});
  double energy = 0;
  for (const RankLoad& at : state_->ranks())
    energy = std::max(energy, at.energy);
  energy += parameters_->restarts.rule_weight * static_cast<double>(state_->rules().broken());
  if (energy < start.least) {
    start.least = energy;
    start.limit = limit;
    start.evenness = evenness;
    start.best = *std::move(made);
  }
  return evenness;
}

// If some ranks have a large shard more than others, the least factor on the load of such shards
// with which no rank has that many replaces them by shards on all ranks.
void Restarts::remove_last_single(Start& start, ChoiceCost cost, StopCheck& stopped) {
  const RestartParameters& restarts = parameters_->restarts;
  if (start.evenness.excess <= restarts.coarse_excess) return;
  const std::uint32_t most = start.evenness.singles;
  const auto has_fewer = [&](double factor) {
    cost.single_factor = factor;
    const std::optional<Evenness> found = attempt(start, start.limit, cost, stopped);
    return found && found->singles < most;
  };
  double low = 1;
  double high = restarts.most_single_factor;
  if (!has_fewer(high)) return;
  for (int step = 0; step < restarts.single_factor_steps && !stopped(); ++step) {
    const double factor = std::sqrt(low * high);
    (has_fewer(factor) ? high : low) = factor;
  }
}

bool Restarts::construct_first(double bound, std::uint64_t round, const Budget& budget) {
  const RestartParameters& restarts = parameters_->restarts;
  RandomGenerator& random = annealer_->random();
  const std::uint32_t steps = round == 0 ? restarts.first_price_steps : restarts.price_steps;
  const double price_factor = 1 + restarts.price_step * random.below(steps);
  // In the first round, and until there is a plan, choices are priced for all of the memory.
  const bool anew = incumbent_->exists() && round > 0;
  const std::span<const MemoryPrices> all = state_->context().prices_by_fill();
  const std::span<const MemoryPrices> by_fill = all.first(anew ? all.size() : 1);
  const std::size_t first = by_fill.size() == 1 ? 0 : random.below(by_fill.size());
  const double memory_weight = anew ? restarts.mendable_memory_weight : restarts.memory_weight;
  state_->set_goal({0, bound, memory_weight, true, restarts.rule_weight});
  Start start;
  start.bound = bound;
  start.limit = restarts.shard_limits.front();
  StopCheck stopped(budget);
  for (const double limit : restarts.shard_limits)
    attempt(start, limit, {by_fill[first], price_factor, 1}, stopped);
  remove_last_single(start, {by_fill[first], price_factor, 1}, stopped);
  for (std::size_t i = 1; i < by_fill.size(); ++i)
    attempt(start, start.limit, {by_fill[(first + i) % by_fill.size()], 1, 1}, stopped);
  if (start.best.choice.empty()) {
    state_->clear();
    return false;
  }
  state_->assign(start.best);
  return true;
}

bool Restarts::begins_anew(double bound, std::uint64_t round) const {
  const RestartParameters& restarts = parameters_->restarts;
  if (!parameters_->methods.restarts_anew || !incumbent_->exists() || has_suggestion())
    return false;
  if (state_->context().prices_by_fill().size() == 1) return false;
  if (round % restarts.anew_every != restarts.anew_every / 2) return false;
  return incumbent_->rating() > restarts.anew_least * bound &&
         incumbent_->rating() < restarts.anew_most * bound;
}

double Restarts::aim_anew(double bound) {
  const auto& shares = parameters_->restarts.anew_shares;
  const double above =
      shares[annealer_->random().below(shares.size())] * (incumbent_->rating() - bound);
  const double target = bound + above;
  state_->set_goal({target, target, 1, true, 1});
  return std::min(target + 2 * above, incumbent_->rating());
}

double Restarts::above_bound(double bound) const {
  return incumbent_->rating() / std::max({bound, unlikely_, kTinyRating});
}

bool Restarts::begins_below(double bound, std::uint32_t lane, std::uint64_t round) {
  const RestartParameters& restarts = parameters_->restarts;
  if (!incumbent_->exists()) return false;
  if (has_suggestion()) return true;
  const double above = above_bound(bound);
  if (!(above > restarts.near ? parameters_->methods.restarts_below
                              : parameters_->methods.restarts_drawn))
    return false;
  if (round == 0) return above > restarts.far && lane % 2 != 0;
  if (above <= restarts.nearest) return false;
  const std::uint32_t one_in = above > restarts.far    ? restarts.far_one_in
                               : above > restarts.near ? restarts.near_one_in
                                                       : restarts.drawn_one_in;
  return annealer_->random().below(one_in) == 0;
}

// Returns the target, or 0 if it was stopped and changed nothing.
double Restarts::place(Allocation start, double target, StopCheck& stopped) {
  const RestartParameters& restarts = parameters_->restarts;
  state_->set_goal({0, target, restarts.memory_weight, true, restarts.rule_weight});
  std::uint64_t work = 0;
  const std::optional<Allocation> made = construct(*state_, annealer_->random(), std::move(start),
                                                   parameters_->construct, work, stopped);
  annealer_->placer().spend(work);
  state_->assign(made ? *made : incumbent_->best()->allocation);
  return made ? target : 0;
}

// Choices whose shards do not rate above the limit, at these prices. Precondition: the limit is not
// below the context's bound, so every table has such choices.
std::vector<std::uint32_t> Restarts::draw_choices(double limit, const MemoryPrices& prices,
                                                  double bound, const Budget& budget) {
  const RestartParameters& restarts = parameters_->restarts;
  const SearchContext& context = state_->context();
  PricedChoices priced(context, &budget);
  priced.admit_below(limit * (1 + kRounding));
  RandomGenerator& random = annealer_->random();
  const double above = std::max(0.0, incumbent_->rating() - bound);
  const double spread = restarts.reach_spread * above / incumbent_->rating();
  ReachFactors factors{};
  for (double& factor : factors)
    factor = std::exp(spread * (2 * random.fraction() - 1));
  const double part = random.fraction();
  const double excess = restarts.drawn_excess * part * part * above * context.speed();
  annealer_->placer().spend(restarts.work_per_choice * context.model().choices().size());
  return priced.draw(prices, factors, excess, restarts.drawn_steps, random);
}

double Restarts::construct_below(double bound, const Budget& budget) {
  const RestartParameters& restarts = parameters_->restarts;
  const SearchContext& context = state_->context();
  RandomGenerator& random = annealer_->random();
  StopCheck stopped(budget);
  if (const auto suggested = std::exchange(suggested_, std::nullopt))
    return place(suggested->start, suggested->target, stopped);
  const double above = above_bound(bound);
  if (above <= restarts.near) {
    std::vector<std::uint32_t> drawn =
        draw_choices(incumbent_->rating(), context.prices(), bound, budget);
    const double target = bound + random.fraction() * (incumbent_->rating() - bound);
    return place(Allocation::of_choices(std::move(drawn)), target, stopped);
  }
  const bool first = unlikely_ == 0;
  double low = std::max({bound, unlikely_, incumbent_->rating() * restarts.least_target});
  double high = incumbent_->rating();
  double target = 0;
  std::optional<std::vector<std::uint32_t>> choices;
  const int most_tries = first ? restarts.first_target_tries : restarts.target_tries;
  for (int tries = most_tries; tries > 0 && (first || !choices) && !stopped(); --tries) {
    const double tried = first ? std::sqrt(low * high) : high - random.fraction() * (high - low);
    auto made = choices_below(context, tried, 1 + restarts.target_price_spread * random.fraction(),
                              parameters_->construct, &budget);
    annealer_->placer().spend(restarts.work_per_choice * context.model().choices().size());
    if (!made) {
      low = tried;
      continue;
    }
    high = target = tried;
    choices = std::move(made);
  }
  unlikely_ = low;
  return choices ? place(Allocation::of_choices(*std::move(choices)), target, stopped) : 0;
}

}  // namespace shardwright::embedding
