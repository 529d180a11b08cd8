#include "search/embedding/best/restarts.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "search/embedding/model/priced_choices.h"

namespace shardwright::embedding {
namespace {

constexpr double kTinyMean = 1e-300;  // keeps quotients finite
constexpr double kRiseRounding = 1e-12;
constexpr std::uint64_t kLookWork = 12;  // of comparing the ranks of a block
constexpr double kNoLoad = 1e-150;       // its square underflows

// The rise of (held / all)^2 by `added`.
double squares(double held, double added, double all) {
  return added * (2 * held + added) / (all * all);
}

std::uint32_t choose(const SearchContext& context, std::size_t table, double shard_limit,
                     const ChoiceCost& priced) {
  const std::span<const Choice> choices = context.model().choices(table);
  std::uint32_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  double smallest = std::numeric_limits<double>::infinity();
  const std::uint32_t first = context.model().first_choice(table);
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    if (context.fits(first + i)) smallest = std::min(smallest, choices[i].max_load);
  }
  for (std::uint32_t i = 0; i < choices.size(); ++i) {
    if (!context.fits(first + i) || choices[i].max_load > std::max(shard_limit, smallest)) continue;
    const double load = choices[i].load;
    const double memory = SearchContext::priced(choices[i], priced.memory) - load;
    const double factor = choices[i].reach == Reach::kAllRanks ? 1 : priced.single_factor;
    const double cost = factor * load + priced.memory_factor * memory;
    if (cost < least) {
      least = cost;
      best = i;
    }
  }
  return first + best;
}

// The size of a choice's shards, by load or weighted memory, relative to an even share of a rank.
double size_of(const Choice& choice, const EvenWeights& weights, double ranks) {
  const double shards = choice.num_shards;
  double size = choice.max_load / weights.mean_load;
  for (const MemoryTier tier : kMemoryTiers) {
    size = std::max(size, weights.bytes[tier] * choice.bytes[tier] / shards /
                              std::max(weights.total_bytes[tier], 1.0) * ranks);
  }
  return size;
}

// Places each unit of bonded tables where the energy rises least. Returns false if stopped.
bool place_units(EnergyPlacer& placer, AllocationState& state, Allocation& made,
                 StopCheck& stopped) {
  std::vector<Replacement> members;
  const std::uint32_t all = state.model().world_size();
  for (const TableUnits::Unit& unit : state.context().units().units()) {
    if (stopped(placer.work())) return false;
    members.clear();
    for (const std::uint32_t table : unit.tables)
      members.push_back({table, made.choice[table], {}});
    placer.place_unit(members, all, all);
    state.keep();
    for (Replacement& member : members)
      made.ranks[member.table] = std::move(member.ranks);
  }
  return true;
}

std::vector<std::uint32_t> placement_order(const ChoiceModel& model, const Allocation& made,
                                           const EvenWeights& weights) {
  struct Key {
    Reach reach;
    std::uint32_t table;
    double size;
  };
  std::vector<Key> keys;
  keys.reserve(model.num_tables());
  for (std::uint32_t table = 0; table < model.num_tables(); ++table) {
    const Choice& choice = model.choices()[made.choice[table]];
    const double size =
        choice.reach == Reach::kDevice ? size_of(choice, weights, model.world_size()) : choice.load;
    keys.push_back({choice.reach, table, size});
  }
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    if (a.reach != b.reach) return a.reach > b.reach;
    return a.size != b.size ? a.size > b.size : a.table < b.table;
  });
  std::vector<std::uint32_t> order;
  order.reserve(keys.size());
  for (const Key& key : keys)
    order.push_back(key.table);
  return order;
}

}  // namespace

EvenWeights even_weights(const SearchContext& context, std::span<const std::uint32_t> choices,
                         const ConstructParameters& parameters) {
  EvenWeights weights;
  double load = 0;
  for (const std::uint32_t choice : choices) {
    const Choice& chosen = context.model().choices()[choice];
    load += chosen.load;
    for (const MemoryTier tier : kMemoryTiers)
      weights.total_bytes[tier] += chosen.bytes[tier];
  }
  weights.mean_load = std::max(load / context.speed(), kTinyMean);
  for (const MemoryTier tier : kMemoryTiers) {
    const double fill = weights.total_bytes[tier] / std::max(context.total_bytes()[tier], 1.0);
    weights.bytes[tier] = fill > parameters.scarce_fill ? fill : 0;
  }
  return weights;
}

EvenPlacer::EvenPlacer(AllocationState& state, const EvenWeights& weights)
    : state_(&state),
      block_size_(ConstructParameters::kRanksPerBlock),
      load_weight_(weights.mean_load > kNoLoad ? 1 / (weights.mean_load * weights.mean_load) : 0),
      weights_(weights.bytes),
      blocks_((state.ranks().size() + block_size_ - 1) / block_size_),
      work_(state.pass_work()) {
  for (std::size_t i = 0; i < blocks_.size(); ++i)
    summarize(i);
}

Rank EvenPlacer::place(const ShardUse& use) {
  constexpr std::size_t kBlocksPerUpdate = 2;
  constexpr std::uint64_t kSummary = 8;  // of a block, and the update of the rank
  work_ += kSummary + blocks_.size() / kBlocksPerUpdate;
  std::size_t first = 0;
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    blocks_[i].least_rise = least_rise(blocks_[i], use);
    if (blocks_[i].least_rise < blocks_[first].least_rise) first = i;
  }
  Rank best = 0;
  double least = std::numeric_limits<double>::infinity();
  look_into(first, use, best, least);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const bool may_hold_less = blocks_[i].least_rise * (1 + kRiseRounding) < least;
    if (i != first && may_hold_less) look_into(i, use, best, least);
  }
  state_->add(best, use);
  state_->keep();
  summarize(best / block_size_);
  return best;
}

Rank EvenPlacer::end_of(std::size_t block) const {
  return static_cast<Rank>(std::min((block + 1) * block_size_, state_->ranks().size()));
}

void EvenPlacer::summarize(std::size_t block) {
  Rank rank = first_of(block);
  Block& sum = blocks_[block];
  sum.least = state_->ranks()[rank];
  sum.scale = state_->scaled(rank, 1);
  for (++rank; rank < end_of(block); ++rank) {
    const RankLoad& at = state_->ranks()[rank];
    sum.least.load = std::min(sum.least.load, at.load);
    const Storage held = least_of(sum.least.held(), at.held());
    sum.least.capacity = most_of(sum.least.capacity, at.capacity);
    sum.least.left = sum.least.capacity - held;
    sum.scale = std::min(sum.scale, state_->scaled(rank, 1));
  }
}

// A lower bound of the rise on any rank of the block, without the goal's memory and rule terms.
double EvenPlacer::least_rise(const Block& block, const ShardUse& use) const {
  const Goal& goal = state_->goal();
  double rise = squares_rise(block.least, block.scale * use.load, use);
  if (goal.squared && goal.target <= 0)
    rise += squares(block.least.load, block.scale * use.load, goal.scale);
  return rise;
}

void EvenPlacer::look_into(std::size_t block, const ShardUse& use, Rank& best, double& least) {
  const Rank end = end_of(block);
  work_ += kLookWork;
  for (Rank rank = first_of(block); rank < end; ++rank) {
    const double rise = squares_rise(state_->ranks()[rank], state_->scaled(rank, use.load), use) +
                        state_->gain(rank, use);
    if (rise < least || (rise == least && rank < best)) {
      least = rise;
      best = rank;
    }
  }
}

double EvenPlacer::squares_rise(const RankLoad& at, double load, const ShardUse& use) const {
  double rise = load * (2 * at.load + load) * load_weight_;
  // No loop over tiers, for speed.
  const auto add = [&](double weight, Bytes capacity, Bytes left, Bytes more) {
    if (weight <= 0) return;
    rise += weight * squares(static_cast<double>((capacity - left).value()),
                             static_cast<double>(more.value()),
                             static_cast<double>(std::max(capacity, Bytes(1)).value()));
  };
  add(weights_.hbm, at.capacity.hbm, at.left.hbm, use.storage.hbm);
  add(weights_.ddr, at.capacity.ddr, at.left.ddr, use.storage.ddr);
  add(weights_.ssd, at.capacity.ssd, at.left.ssd, use.storage.ssd);
  return rise;
}

std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const ChoiceCost& cost) {
  std::vector<std::uint32_t> choices;
  for (std::size_t table = 0; table < context.model().num_tables(); ++table)
    choices.push_back(choose(context, table, shard_limit, cost));
  return choices;
}

std::optional<Allocation> construct(AllocationState& state, RandomGenerator& random,
                                    Allocation made, const ConstructParameters& parameters,
                                    std::uint64_t& work, StopCheck& stopped) {
  constexpr std::uint64_t kPasses = 2;           // to clear the ranks
  constexpr std::uint64_t kFillsPerUpdate = 16;  // a choice on all ranks is added to all, in order
  constexpr std::uint64_t kReadsPerUpdate = 4;   // every rank is compared, in order
  constexpr std::uint64_t kOrderWork = 16;       // to put a table into the order
  const SearchContext& context = state.context();
  const ChoiceModel& model = context.model();
  const EvenWeights weights = even_weights(context, made.choice, parameters);
  const std::vector<std::uint32_t> order = placement_order(model, made, weights);
  const auto single = std::find_if(order.begin(), order.end(), [&](std::uint32_t table) {
    return model.choices()[made.choice[table]].reach == Reach::kDevice;
  });
  const auto is_alone = [&](std::uint32_t table) {
    return context.units().unit_of(table) == TableUnits::kNone;
  };
  const auto is_open = [&](std::uint32_t table) {
    return is_alone(table) && made.ranks[table].empty();
  };
  state.clear();
  EnergyPlacer placer(state, random);
  if (!place_units(placer, state, made, stopped)) return std::nullopt;
  std::vector<std::uint32_t> everywhere;
  for (const std::uint32_t table : std::span(order.begin(), single)) {
    if (!is_alone(table)) continue;
    const Choice& choice = model.choices()[made.choice[table]];
    if (choice.reach != Reach::kAllRanks) break;  // these come first
    everywhere.push_back(made.choice[table]);
    work += choice.num_shards / kFillsPerUpdate;
  }
  if (!state.hold_everywhere(everywhere, stopped)) return std::nullopt;
  for (const std::uint32_t table : order) {
    if (!is_alone(table) || made.ranks[table].empty()) continue;
    if (stopped(work += made.ranks[table].size())) return std::nullopt;
    const std::span<const ShardUse> shards = context.shards(made.choice[table]);
    for (std::size_t shard = 0; shard < shards.size(); ++shard)
      state.add(made.ranks[table][shard], shards[shard]);
    state.keep();
  }
  for (const std::uint32_t table : std::span(order.begin(), single)) {
    if (!is_open(table) || model.choices()[made.choice[table]].reach == Reach::kAllRanks) continue;
    if (stopped(placer.work())) return std::nullopt;
    placer.place(made.choice[table], model.world_size(), made.ranks[table], placer.all_ranks());
    state.keep();
  }
  EvenPlacer even(state, weights);
  for (const std::uint32_t table : std::span(single, order.end())) {
    if (!is_open(table)) continue;
    if (stopped(placer.work() + even.work())) return std::nullopt;
    for (const ShardUse& use : context.shards(made.choice[table]))
      made.ranks[table].push_back(even.place(use));
  }
  work += kPasses * state.pass_work() + kOrderWork * model.num_tables() +
          placer.work() / kReadsPerUpdate + even.work();
  return made;
}

namespace {

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
    const Held held = largest_shard(model, choice);
    sum.load += held.load;
    sum.storage += held.storage;
  }
  return sum;
}

constexpr double kTinyRating = 1e-300;    // keeps quotients finite
constexpr double kChoiceRounding = 1e-9;  // relative, so that the best allocation's choices stay

}  // namespace

std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor, const Budget* budget) {
  const ChoiceModel& model = context.model();
  const Storage room = largest_room(model);
  PricedChoices priced(context, budget);
  Held everywhere;
  for (int round = 0; round < ConstructParameters::kMostAgreementRounds; ++round) {
    priced.admit([&](const Choice& choice) {
      const Held held = largest_shard(model, choice);
      if (choice.reach == Reach::kAllRanks) return context.fastest(held.load) < target;
      return context.fastest(held.load + everywhere.load) < target &&
             (held.storage + everywhere.storage).fits_in(room);
    });
    MemoryPrices prices;
    const double bound = priced.fit_prices(ConstructParameters::kPriceSteps, prices);
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

struct Restarts::Evenness {
  double excess = 0;          // largest load / mean load
  std::uint32_t singles = 0;  // shards on the busiest rank with Reach::kDevice
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
  double limit = 0;   // of the shards of `best`, as a multiple of the bound
  Evenness evenness;  // of `best`
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

// Makes an allocation with this limit and cost, and keeps it if it is the best so far. Returns its
// evenness, or nothing if stopped. Does not place choices again that were tried before.
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
  energy += RestartParameters::kRuleWeight * static_cast<double>(state_->rules().broken());
  if (energy < start.least) {
    start.least = energy;
    start.limit = limit;
    start.evenness = evenness;
    start.best = *std::move(made);
  }
  return evenness;
}

// If loads are uneven, bisects for the least ChoiceCost::single_factor with which the busiest rank
// has one shard less of choices on single ranks, because tables then go on all ranks.
void Restarts::remove_last_single(Start& start, ChoiceCost cost, StopCheck& stopped) {
  if (start.evenness.excess <= RestartParameters::kCoarseExcess) return;
  const std::uint32_t most = start.evenness.singles;
  const auto has_fewer = [&](double factor) {
    cost.single_factor = factor;
    const std::optional<Evenness> found = attempt(start, start.limit, cost, stopped);
    return found && found->singles < most;
  };
  double low = 1;
  double high = RestartParameters::kMostSingleFactor;
  if (!has_fewer(high)) return;
  for (int step = 0; step < RestartParameters::kSingleFactorSteps && !stopped(); ++step) {
    const double factor = std::sqrt(low * high);
    (has_fewer(factor) ? high : low) = factor;
  }
}

bool Restarts::construct_first(double bound, std::uint64_t round, const Budget& budget) {
  const RestartParameters& restarts = parameters_->restarts;
  RandomGenerator& random = annealer_->random();
  const std::uint32_t steps =
      round == 0 ? restarts.first_price_steps : RestartParameters::kPriceSteps;
  const double price_factor = 1 + restarts.price_step * random.below(steps);
  const ChoiceCost cost{state_->context().prices(), price_factor, 1};
  state_->set_goal({0, bound, restarts.memory_weight, true, RestartParameters::kRuleWeight});
  Start start;
  start.bound = bound;
  start.limit = restarts.shard_limits.front();
  StopCheck stopped(budget);
  for (const double limit : restarts.shard_limits)
    attempt(start, limit, cost, stopped);
  remove_last_single(start, cost, stopped);
  if (start.best.choice.empty()) {
    state_->clear();
    return false;
  }
  state_->assign(start.best);
  return true;
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
  if (round == 0) return above > RestartParameters::kFar && lane % 2 != 0;
  if (above <= RestartParameters::kNearest) return false;
  const std::uint32_t one_in = above > RestartParameters::kFar ? RestartParameters::kFarOneIn
                               : above > restarts.near         ? RestartParameters::kNearOneIn
                                                               : RestartParameters::kDrawnOneIn;
  return annealer_->random().below(one_in) == 0;
}

// Places the start and returns the target. If stopped, restores the best allocation and returns 0.
double Restarts::place(Allocation start, double target, StopCheck& stopped) {
  const RestartParameters& restarts = parameters_->restarts;
  state_->set_goal({0, target, restarts.memory_weight, true, RestartParameters::kRuleWeight});
  std::uint64_t work = 0;
  const std::optional<Allocation> made = construct(*state_, annealer_->random(), std::move(start),
                                                   parameters_->construct, work, stopped);
  annealer_->placer().spend(work);
  state_->assign(made ? *made : incumbent_->best()->allocation);
  return made ? target : 0;
}

// Draws choices whose shards rate at most `limit`, at these prices. Precondition: the limit is at
// least the context's bound, so that every table has such a choice.
std::vector<std::uint32_t> Restarts::draw_choices(double limit, const MemoryPrices& prices,
                                                  double bound, const Budget& budget) {
  const SearchContext& context = state_->context();
  PricedChoices priced(context, &budget);
  priced.admit_below(limit * (1 + kChoiceRounding));
  RandomGenerator& random = annealer_->random();
  const double above = std::max(0.0, incumbent_->rating() - bound);
  const double spread = RestartParameters::kReachSpread * above / incumbent_->rating();
  ReachFactors factors{};
  for (double& factor : factors)
    factor = std::exp(spread * (2 * random.fraction() - 1));
  const double part = random.fraction();
  const double excess = RestartParameters::kDrawnExcess * part * part * above * context.speed();
  annealer_->placer().spend(RestartParameters::kWorkPerChoice * context.model().choices().size());
  return priced.draw(prices, factors, excess, RestartParameters::kDrawnSteps, random);
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
  double low = std::max({bound, unlikely_, incumbent_->rating() * RestartParameters::kLeastTarget});
  double high = incumbent_->rating();
  double target = 0;
  std::optional<std::vector<std::uint32_t>> choices;
  const int most_tries =
      first ? RestartParameters::kFirstTargetTries : RestartParameters::kTargetTries;
  for (int tries = most_tries; tries > 0 && (first || !choices) && !stopped(); --tries) {
    const double tried = first ? std::sqrt(low * high) : high - random.fraction() * (high - low);
    auto made = choices_below(
        context, tried, 1 + RestartParameters::kTargetPriceSpread * random.fraction(), &budget);
    annealer_->placer().spend(RestartParameters::kWorkPerChoice * context.model().choices().size());
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
