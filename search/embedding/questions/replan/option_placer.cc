#include "search/embedding/questions/replan/option_placer.h"

#include <algorithm>
#include <numeric>

namespace shardwright {

using embedding::PartitionBy;
using embedding::Problem;
using embedding::Rank;
using embedding::RankSet;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::Topology;

OptionPlacer::OptionPlacer(const Problem& problem, const Topology& available,
                           const ShardingOption& option, RankTally& tally, PlacementView view)
    : problem_(problem), available_(available), option_(option), tally_(tally), view_(view) {
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    costs_.insert(costs_.end(), option.layout->extents[run].count, &option.costs[run]);
  }
}

std::vector<Rank> OptionPlacer::place() {
  if (option_.num_shards() > problem_.rules().max_shards(option_.table)) return {};
  switch (option_.partition_by()) {
    case PartitionBy::kUniform:
      return option_.num_shards() == world() ? take_in_order(0) : std::vector<Rank>();
    case PartitionBy::kDevice:
      return take_greedily(0, world());
    case PartitionBy::kHost:
      if (option_.sharding_type == ShardingType::kTableRowWise) return take_whole_hosts();
      return take_best_host();
    case PartitionBy::kMultiHost:
      return take_whole_hosts();
  }
  return {};
}

void OptionPlacer::take_back(const std::vector<Rank>& ranks) {
  for (std::size_t shard = 0; shard < ranks.size(); ++shard)
    tally_.remove(ranks[shard], *costs_[shard]);
}

Badness OptionPlacer::badness(const std::vector<Rank>& ranks) const {
  std::int64_t excess = 0;
  double worst = 0;
  double time = 0;
  for (std::size_t shard = 0; shard < ranks.size(); ++shard) {
    excess += excess_bytes(ranks[shard]);
    worst = std::max(worst, tally_.value(ranks[shard]));
    time += costs_[shard]->perf.total().value();
  }
  return {excess, worst, time};
}

bool OptionPlacer::may_be(std::size_t shard, Rank rank) const {
  if (view_.ranks != nullptr && !view_.ranks->contains(rank)) return false;
  const RankSet* const allowed =
      problem_.rules().allowed(option_.table, static_cast<std::uint32_t>(shard));
  return allowed == nullptr || allowed->contains(rank);
}

// All shards from rank `first` on.
std::vector<Rank> OptionPlacer::take_in_order(Rank first) {
  std::vector<Rank> ranks(costs_.size());
  std::iota(ranks.begin(), ranks.end(), first);
  for (std::size_t shard = 0; shard < ranks.size(); ++shard) {
    if (!may_be(shard, ranks[shard])) return {};
  }
  for (std::size_t shard = 0; shard < ranks.size(); ++shard)
    tally_.add(ranks[shard], *costs_[shard]);
  return ranks;
}

std::vector<Rank> OptionPlacer::take_greedily(Rank first, std::uint32_t count) {
  const bool distinct = problem_.rules().distinct_ranks(option_.table);
  std::vector<Rank> ranks;
  for (std::size_t shard = 0; shard < costs_.size(); ++shard) {
    std::optional<Rank> best;
    Badness least;
    for (Rank rank = first; rank < first + count; ++rank) {
      if (!may_be(shard, rank)) continue;
      if (distinct && std::find(ranks.begin(), ranks.end(), rank) != ranks.end()) continue;
      tally_.add(rank, *costs_[shard]);
      const Badness now{excess_bytes(rank), tally_.value(rank), 0};
      tally_.remove(rank, *costs_[shard]);
      if (best && least <= now) continue;
      best = rank;
      least = now;
    }
    if (!best) {
      take_back(ranks);
      return {};
    }
    tally_.add(*best, *costs_[shard]);
    ranks.push_back(*best);
  }
  return ranks;
}

std::vector<Rank> OptionPlacer::take_best_host() {
  std::optional<Rank> best;
  Badness least;
  for (Rank first = 0; first < world(); first += local()) {
    const std::vector<Rank> ranks = take_greedily(first, local());
    if (ranks.empty()) continue;
    const Badness now = badness(ranks);
    take_back(ranks);
    if (best && least <= now) continue;
    best = first;
    least = now;
  }
  return best ? take_greedily(*best, local()) : std::vector<Rank>();
}

// As many shards as a host has ranks, in rank order, on the best host; then as many more.
std::vector<Rank> OptionPlacer::take_whole_hosts() {
  if (costs_.size() % local() != 0) return {};
  std::vector<Rank> ranks;
  while (ranks.size() < costs_.size()) {
    std::optional<Rank> best;
    Badness least;
    for (Rank first = 0; first < world(); first += local()) {
      const std::optional<Badness> now = try_host(first, ranks);
      if (!now || (best && least <= *now)) continue;
      best = first;
      least = *now;
    }
    if (!best) {
      take_back(ranks);
      return {};
    }
    for (std::uint32_t i = 0; i < local(); ++i) {
      tally_.add(*best + i, *costs_[ranks.size()]);
      ranks.push_back(*best + i);
    }
  }
  return ranks;
}

std::optional<Badness> OptionPlacer::try_host(Rank first, const std::vector<Rank>& taken) {
  const bool distinct = problem_.rules().distinct_ranks(option_.table);
  if (distinct && std::find(taken.begin(), taken.end(), first) != taken.end()) return std::nullopt;
  std::int64_t excess = 0;
  double worst = 0;
  for (std::uint32_t i = 0; i < local(); ++i) {
    const std::size_t shard = taken.size() + i;
    if (!may_be(shard, first + i)) return std::nullopt;
    tally_.add(first + i, *costs_[shard]);
    excess += excess_bytes(first + i);
    worst = std::max(worst, tally_.value(first + i));
    tally_.remove(first + i, *costs_[shard]);
  }
  return Badness{excess, worst, 0};
}

}  // namespace shardwright
