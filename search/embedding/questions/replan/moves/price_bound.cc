#include "search/embedding/questions/replan/moves/price_bound.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shardwright::embedding {
namespace {

constexpr double kNoPlace = std::numeric_limits<double>::infinity();
constexpr double kFirstStep = 1;
constexpr double kShrink = 0.7;   // of the step after kPatience steps without a better bound
constexpr int kPatience = 5;

// The nearest point with no negative member and a sum of at most 1.
// Source: Held, Wolfe, Crowder 1974, "Validation of subgradient optimization".
void project(std::vector<double>& point) {
  double sum = 0;
  for (double& x : point) {
    x = std::max(x, 0.0);
    sum += x;
  }
  if (sum <= 1) return;
  std::vector<double> sorted = point;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  double shift = 0;
  double total = 0;
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    total += sorted[i];
    const double at = (total - 1) / static_cast<double>(i + 1);
    if (sorted[i] > at) shift = at;
  }
  for (double& x : point)
    x = std::max(x - shift, 0.0);
}

// Rounding may leave the sum a little above 1.
void keep_below_one(std::vector<double>& point) {
  const double sum = std::accumulate(point.begin(), point.end(), 0.0);
  if (sum <= 1) return;
  for (double& x : point)
    x /= sum * (1 + 4 * std::numeric_limits<double>::epsilon());
}

}  // namespace

PriceBound::PriceBound(const SearchContext& context, const MoveCosts& costs)
    : context_(&context), costs_(&costs) {}

double PriceBound::price(std::uint32_t choice, std::uint32_t shard, Rank rank,
                         const RankPrices& prices) const {
  const ChoiceModel& model = context_->model();
  const ShardUse& use = context_->shards(choice)[shard];
  if (use.storage != Storage() && !use.storage.fits_in(model.room()[rank])) return kNoPlace;
  if (use.table != ShardUse::kUnruled) {
    const RankSet* const allowed = model.rules().allowed(model.table(use.table), shard);
    if (allowed != nullptr && !allowed->contains(rank)) return kNoPlace;
  }
  return add_priced(prices.load[rank] * model.time_scale(rank) * use.load, prices.bytes[rank],
                    as_doubles(use.storage)) +
         costs_->cost(choice, shard, rank);
}

double PriceBound::least_in(std::uint32_t choice, Rank first, std::uint32_t count,
                            const RankPrices& prices, std::vector<Rank>& ranks) {
  double sum = 0;
  ranks.clear();
  const std::uint32_t shards = context_->model().choices()[choice].num_shards;
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    double least = kNoPlace;
    Rank best = first;
    for (Rank rank = first; rank < first + count; ++rank) {
      const double own = price(choice, shard, rank, prices);
      if (own >= least) continue;
      least = own;
      best = rank;
    }
    work_ += count;
    sum += least;
    ranks.push_back(best);
    if (sum == kNoPlace) break;
  }
  return sum;
}

double PriceBound::least_by_blocks(std::uint32_t choice, const RankPrices& prices,
                                   std::vector<Rank>& ranks) {
  const std::uint32_t local = context_->model().local_world_size();
  const std::uint32_t shards = context_->model().choices()[choice].num_shards;
  double sum = 0;
  ranks.clear();
  for (std::uint32_t shard = 0; shard < shards; shard += local) {
    double least = kNoPlace;
    std::uint32_t best = 0;
    for (std::uint32_t host = 0; host < context_->model().num_hosts(); ++host) {
      double own = 0;
      for (std::uint32_t k = 0; k < local; ++k)
        own += price(choice, shard + k, host * local + k, prices);
      if (own >= least) continue;
      least = own;
      best = host;
    }
    work_ += context_->model().world_size();
    sum += least;
    for (std::uint32_t k = 0; k < local; ++k)
      ranks.push_back(best * local + k);
  }
  return sum;
}

double PriceBound::least(std::uint32_t choice, const RankPrices& prices, UseOfRanks* use) {
  const ChoiceModel& model = context_->model();
  const Choice& chosen = model.choices()[choice];
  const std::uint32_t local = model.local_world_size();
  double least = kNoPlace;
  ranks_.clear();
  if (chosen.reach == Reach::kAllRanks) {
    least = costs_->cost(choice, {});
    Rank rank = 0;
    for (const ChoiceRun& run : model.runs(chosen)) {
      for (std::uint32_t k = 0; k < run.count; ++k, ++rank) {
        const double load = run.load * model.time_scale(rank);
        const PerTier<double> bytes = as_doubles(run.storage);
        least += prices.of(rank, load, bytes);
        if (use != nullptr) use->add(rank, load, bytes);
      }
    }
    work_ += model.world_size();
    return least;
  }
  if (chosen.reach == Reach::kDevice) {
    least = least_in(choice, 0, model.world_size(), prices, ranks_);
  } else if (chosen.reach == Reach::kWholeHosts) {
    least = least_by_blocks(choice, prices, ranks_);
  } else {
    for (Rank first = 0; first < model.num_hosted_ranks(); first += local) {
      const double own = least_in(choice, first, local, prices, trial_);
      if (own >= least) continue;
      least = own;
      ranks_ = trial_;
    }
  }
  if (use == nullptr || least == kNoPlace) return least;
  const std::span<const ShardUse> uses = context_->shards(choice);
  for (std::size_t shard = 0; shard < uses.size(); ++shard) {
    const Rank rank = ranks_[shard];
    use->add(rank, uses[shard].load * model.time_scale(rank), as_doubles(uses[shard].storage));
  }
  return least;
}

double PriceBound::capacity(const RankPrices& prices) const {
  double sum = 0;
  const std::span<const Storage> room = context_->model().room();
  for (std::size_t rank = 0; rank < room.size(); ++rank) {
    sum = add_priced(sum, prices.bytes[rank], as_doubles(most_of(room[rank], Storage())));
  }
  return sum;
}

double PriceBound::bound_at(std::span<const std::uint32_t> tables, const UseOfRanks& fixed,
                            double fixed_moved, const RankPrices& prices, UseOfRanks& use,
                            const Budget& budget) {
  use = fixed;
  double bound = fixed_moved - capacity(prices);
  for (Rank rank = 0; rank < use.load.size(); ++rank)
    bound += prices.of(rank, use.load[rank], use.bytes[rank]);
  const ChoiceModel& model = context_->model();
  for (const std::uint32_t table : tables) {
    if (budget.interrupted()) return -kNoPlace;
    double least = kNoPlace;
    std::uint32_t best = 0;
    for (std::uint32_t i = 0; i < model.choices(table).size(); ++i) {
      const std::uint32_t choice = model.first_choice(table) + i;
      if (!context_->fits(choice)) continue;
      const double own = this->least(choice, prices, nullptr);
      if (own >= least) continue;
      least = own;
      best = choice;
    }
    if (least == kNoPlace) return kNoPlace;
    this->least(best, prices, &use);
    bound += least;
  }
  return bound;
}

// Loads are in units of the rating, so their prices are steps in one space; memory has its own.
void PriceBound::step(const UseOfRanks& use, double gap, RankPrices& prices) const {
  const std::span<const Storage> room = context_->model().room();
  const std::size_t ranks = use.load.size();
  std::vector<PerTier<double>> over(ranks);
  double loads = 0;
  double bytes = 0;
  const double mean = std::accumulate(use.load.begin(), use.load.end(), 0.0) /
                      static_cast<double>(ranks);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    loads += (use.load[rank] - mean) * (use.load[rank] - mean);
    const PerTier<double> capacity = as_doubles(most_of(room[rank], Storage()));
    for (const MemoryTier tier : kMemoryTiers) {
      const double excess = use.bytes[rank][tier] - capacity[tier];
      if (excess >= 0 || prices.bytes[rank][tier] != 0) over[rank][tier] = excess;
    }
    bytes += add_priced(0, over[rank], over[rank]);
  }
  if (loads > 0) {
    for (std::size_t rank = 0; rank < ranks; ++rank)
      prices.load[rank] += gap * (use.load[rank] - mean) / loads;
  }
  project(prices.load);
  const double unused = 1 - std::accumulate(prices.load.begin(), prices.load.end(), 0.0);
  for (double& price : prices.load)
    price += std::max(unused, 0.0) / static_cast<double>(ranks);
  keep_below_one(prices.load);
  if (bytes == 0) return;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    for (const MemoryTier tier : kMemoryTiers) {
      double& price = prices.bytes[rank][tier];
      price = std::max(price + gap * over[rank][tier] / bytes, 0.0);
    }
  }
}

std::uint64_t PriceBound::step_work() const {
  const std::uint64_t world = context_->model().world_size();
  std::uint64_t work = 0;
  for (const Choice& choice : context_->model().choices())
    work += choice.reach == Reach::kAllRanks ? world : choice.num_shards * world;
  return work;
}

double PriceBound::raise(std::span<const std::uint32_t> tables, const UseOfRanks& fixed,
                         double fixed_moved, double target, int steps, RankPrices& prices,
                         const Budget& budget) {
  RankPrices now = prices;
  UseOfRanks use(fixed.load.size());
  double best = -kNoPlace;
  double length = kFirstStep;
  int idle = 0;
  for (int i = 0; i < steps && !budget.interrupted(); ++i) {
    const double bound = bound_at(tables, fixed, fixed_moved, now, use, budget);
    if (bound == kNoPlace) return bound;
    if (bound > best) {
      best = bound;
      prices = now;
      idle = 0;
    } else if (++idle == kPatience) {
      idle = 0;
      length *= kShrink;
      now = prices;
      bound_at(tables, fixed, fixed_moved, now, use, budget);
    }
    if (best >= target) break;
    const double most = *std::max_element(use.load.begin(), use.load.end());
    step(use, length * (std::min(target, best + most) - best), now);
  }
  return best;
}

}  // namespace shardwright::embedding
