#include "search/embedding/best/bound/ranks/rank_costs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>

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
  switch (choice.reach) {
    case Reach::kAllRanks: {
      double sum = 0;
      for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
        sum += at(model_.shards(choice)[0], places.may, rank);
      return sum + extras_within(choice, places.may);
    }
    case Reach::kWholeHosts:
      return on_hosts(choice, places);
    case Reach::kHost: {
      double least = kInfinity;
      for (const ClassSet host : model_.hosts()) {
        if ((places.held & ~host) == 0) least = std::min(least, within(choice, places, host));
      }
      return least;
    }
    case Reach::kDevice:
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
    if (choice.num_parts == 1) sum += extras_within(choice, places.may & host);
    least = std::min(least, sum);
    if ((places.held & host) == 0) continue;
    held += sum;
    ++num_held;
  }
  if (least == kInfinity || num_held > choice.num_parts) return kInfinity;
  const double extras = choice.num_parts > 1 ? extras_within(choice, places.may) : 0;
  return held + (choice.num_parts - num_held) * least + extras;
}

// A rank has one shard of each part. So those of one part are on different ranks.
double RankCosts::extras_within(const RankChoice& choice, ClassSet ranks) const {
  double sum = 0;
  std::array<double, kMostRanks> cost{};
  for (const RankShards& extra : model_.extras(choice)) {
    for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank)
      cost[rank] = at(extra, ranks, rank);
    const auto end = cost.begin() + model_.num_ranks();
    if (choice.num_parts > 1) {
      sum += extra.count * *std::min_element(cost.begin(), end);
      continue;
    }
    const auto dearest = cost.begin() + extra.count;
    std::nth_element(cost.begin(), dearest - 1, end);
    sum = std::accumulate(cost.begin(), dearest, sum);
  }
  return sum;
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

std::vector<double> RankCosts::costs_of(const RankDomain& domain) const {
  std::vector<double> costs;
  costs.reserve(domain.size());
  for (std::size_t c = 0; c < domain.size(); ++c)
    costs.push_back(domain[c].may != 0 ? cost_of(model_.choices()[c], domain[c]) : kInfinity);
  return costs;
}

double RankCosts::least_of(std::size_t table, const std::vector<double>& costs) const {
  double least = kInfinity;
  for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c)
    least = std::min(least, costs[c]);
  return least;
}

double RankCosts::bound(const std::vector<double>& costs) const {
  double sum = 0;
  for (std::size_t table = 0; table < model_.num_tables(); ++table)
    sum += least_of(table, costs);
  return sum - capacity_;
}

// Those where one more shard costs no more than `most` in all.
ClassSet RankCosts::affordable_ranks(const RankChoice& choice, const RankPlaces& own,
                                     double most) const {
  if (choice.reach == Reach::kAllRanks) return own.may;
  ClassSet left = own.may;
  for (std::size_t rank = 0; rank < model_.num_ranks(); ++rank) {
    const ClassSet bit = ClassSet{1} << rank;
    const bool is_open = (own.may & ~own.held & bit) != 0;
    if (is_open && cost_of(choice, {own.may, own.held | bit}) > most) left &= ~bit;
  }
  return left;
}

bool RankCosts::remove_dear(double target, RankDomain& domain) const {
  const std::vector<double> costs = costs_of(domain);
  const double slack = target * (1 + kBoundRounding) - bound(costs);
  bool any = false;
  for (std::size_t table = 0; table < model_.num_tables(); ++table) {
    const double most = least_of(table, costs) + slack;
    for (std::uint32_t c = model_.first_choice(table); c < model_.end_choice(table); ++c) {
      RankPlaces& own = domain[c];
      if (own.may == 0) continue;
      const ClassSet left = costs[c] > most ? 0 : affordable_ranks(model_.choices()[c], own, most);
      any |= left != own.may;
      own.may = left;
      if (left == 0) own = {};
    }
  }
  return any;
}

}  // namespace shardwright::embedding
