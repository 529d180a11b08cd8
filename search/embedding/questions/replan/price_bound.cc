#include "search/embedding/questions/replan/price_bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardwright::embedding {
namespace {

constexpr double kNoPlace = std::numeric_limits<double>::infinity();
constexpr double kShrink = 0.7;  // of the step after kPatience steps without a better bound
constexpr int kPatience = 5;

// Moves the prices of loads to the nearest ones that are not negative and add up to 1.
// Source: Held, Wolfe, Crowder 1974, "Validation of subgradient optimization".
void project_loads(PriceBound::Prices& prices) {
  std::vector<double> sorted;
  for (const CapacityMultipliers& own : prices)
    sorted.push_back(own.load);
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
  // Rounding may leave the sum a little above 1.
  if (sum <= 1) return;
  for (CapacityMultipliers& own : prices)
    own.load /= sum * (1 + 4 * std::numeric_limits<double>::epsilon());
}

PerTier<double> capacity_of(const Storage& room) { return as_doubles(most_of(room, Storage())); }

}  // namespace

PriceBound::PriceBound(const SearchContext& context, const MoveCosts& costs)
    : context_(&context), costs_(&costs), prices_(context.model().world_size()) {}

// Of the shard, its move included. Infinite if it never may be there.
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

// On ranks from `first` to `end`, shard by shard, or host by host if the choice fills hosts.
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

// Over all places.
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

// Adds what the choice takes on best_ranks_.
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

// Loads are in units of the rating, so their prices are steps in one space; memory has its own.
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

}  // namespace shardwright::embedding
