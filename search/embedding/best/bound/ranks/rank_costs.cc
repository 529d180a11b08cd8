#include "search/embedding/best/bound/ranks/rank_costs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "search/embedding/best/bound/relaxation/aggregate_bound.h"

namespace shardwright::embedding {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
}  // namespace

RankCosts::RankCosts(const RankModel& model, const std::vector<CapacityMultipliers>& multipliers)
    : model_(model), multipliers_(multipliers) {
  for (std::size_t rank = 0; rank < model.num_ranks(); ++rank)
    capacity_ += add_priced(0, multipliers[rank], model.rank(rank).room);
}

double RankCosts::at(const RankShards& shards, ClassSet may, std::size_t rank) const {
  if (!has_rank(may & shards.ranks, rank)) return kInfinity;
  return add_priced(multipliers_[rank].load * shards.load, multipliers_[rank], shards.bytes);
}

double RankCosts::cost_of(const RankChoice& choice, const RankPlaces& places) const {
  switch (choice.spread) {
    case Spread::kAllRanks: {
      double sum = 0;
      for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
        sum += at(model_.shards(choice)[0], places.may, rank);
      return sum;
    }
    case Spread::kWholeHosts:
      return on_hosts(choice, places);
    case Spread::kOneHost: {
      double least = kInfinity;
      for (const ClassSet host : model_.hosts()) {
        if ((places.held & ~host) == 0) least = std::min(least, within(choice, places, host));
      }
      return least;
    }
    case Spread::kFree:
      break;
  }
  return within(choice, places, model_.everywhere());
}

double RankCosts::on_hosts(const RankChoice& choice, const RankPlaces& places) const {
  const RankShards& shards = model_.shards(choice)[0];
  double least = kInfinity;
  double held = 0;
  std::uint32_t num_held = 0;
  for (const ClassSet host : model_.hosts()) {
    double sum = 0;
    for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
      sum += has_rank(host, rank) ? at(shards, places.may, rank) : 0;
    least = std::min(least, sum);
    if ((places.held & host) == 0) continue;
    held += sum;
    ++num_held;
  }
  if (least == kInfinity || num_held > choice.num_parts) return kInfinity;
  return held + (choice.num_parts - num_held) * least;
}

double RankCosts::within(const RankChoice& choice, const RankPlaces& places, ClassSet ranks) const {
  if (static_cast<std::uint32_t>(std::popcount(places.held)) > choice.num_parts) return kInfinity;
  std::array<double, kMostRanks> extra;  // of a shard that must be there
  extra.fill(kInfinity);
  std::array<double, kMostRanks> cost;
  double sum = 0;
  for (const RankShards& shards : model_.shards(choice)) {
    double least = kInfinity;
    for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank) {
      cost[rank] = at(shards, places.may & ranks, rank);
      least = std::min(least, cost[rank]);
    }
    if (least == kInfinity) return kInfinity;
    sum += shards.count * least;
    for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
      extra[rank] = std::min(extra[rank], cost[rank] - least);
  }
  for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
    sum += has_rank(places.held, rank) ? extra[rank] : 0;
  return sum;
}

double RankCosts::bound(const RankDomain& domain) const {
  double sum = 0;
  for (std::size_t table = 0; table < model_.num_tables(); ++table) {
    double least = kInfinity;
    for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c) {
      if (domain[c].may != 0) least = std::min(least, cost_of(model_.choices()[c], domain[c]));
    }
    sum += least;
  }
  return sum - capacity_;
}

bool RankCosts::remove_dear(double target, RankDomain& domain) const {
  const double slack = target * (1 + kBoundRounding) - bound(domain);
  bool any = false;
  std::vector<double> cost;
  for (std::size_t table = 0; table < model_.num_tables(); ++table) {
    double least = kInfinity;
    cost.clear();
    for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c) {
      const RankChoice& choice = model_.choices()[c];
      cost.push_back(domain[c].may != 0 ? cost_of(choice, domain[c]) : kInfinity);
      least = std::min(least, cost.back());
    }
    for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c) {
      RankPlaces& own = domain[c];
      const ClassSet before = own.may;
      if (own.may == 0) continue;
      if (cost[c - model_.first_choice(table)] - least > slack) {
        own = {};
      } else if (const RankChoice& choice = model_.choices()[c];
                 choice.spread != Spread::kAllRanks) {
        ClassSet left = own.may;
        for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank) {
          const ClassSet bit = ClassSet{1} << rank;
          if ((own.may & ~own.held & bit) != 0 &&
              cost_of(choice, {own.may, own.held | bit}) - least > slack)
            left &= ~bit;
        }
        own.may = left;
        if (own.may == 0) own = {};
      }
      any |= own.may != before;
    }
  }
  return any;
}

}  // namespace shardwright::embedding
