#include "search/embedding/model/greedy_placer.h"

#include <algorithm>
#include <numeric>

namespace shardwright::embedding {

PlanLoads::PlanLoads(const Problem& problem, const Topology& available)
    : memory_is_load_(problem.spec().perf_model != PerfModel::kPerf),
      ranks_(available.world_size()) {
  if (!memory_is_load_) time_factors_ = problem.spec().calibration.rank_time;
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    ranks_[rank].set_capacity(available.storage()[rank]);
}

ShardUse PlanLoads::use_of(const ShardCost& cost) const {
  const double load =
      memory_is_load_ ? static_cast<double>(cost.storage.hbm.value()) : cost.perf.total().value();
  return {load, cost.storage};
}

void PlanLoads::change(const Assignment& assignment, int sign) {
  const ShardingOption& option = *assignment.option;
  std::uint32_t shard = 0;
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    const ShardUse use = use_of(option.costs[run]);
    for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k)
      change(assignment.rank(shard++), use, sign);
  }
}

double PlanLoads::rating() const {
  double worst = 0;
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    worst = std::max(worst, rating(rank));
  return worst;
}

std::int64_t PlanLoads::excess_bytes() const {
  std::int64_t sum = 0;
  for (const RankState& at : ranks_)
    sum += at.excess_bytes();
  return sum;
}

GreedyPlacer::GreedyPlacer(const Problem& problem, const Topology& available,
                           const ShardingOption& option, PlanLoads& loads, PlacementView view)
    : problem_(problem), available_(available), option_(option), loads_(loads), view_(view) {
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    const std::uint32_t count = option.layout->extents[run].count;
    uses_.insert(uses_.end(), count, loads.use_of(option.costs[run]));
    for (std::uint32_t shard = 0; shard < count; ++shard)
      time_ms_ += option.costs[run].perf.total().value();
  }
}

std::vector<Rank> GreedyPlacer::place() {
  if (option_.num_shards() > problem_.rules().max_shards(option_.table)) return {};
  switch (option_.partition_by()) {
    case PartitionBy::kUniform:
      return option_.num_shards() == world() ? place_in_order(0) : std::vector<Rank>();
    case PartitionBy::kDevice:
      return place_in_window(0, world());
    case PartitionBy::kHost:
      if (option_.sharding_type == ShardingType::kTableRowWise) return place_on_whole_hosts();
      return place_on_best_host();
    case PartitionBy::kMultiHost:
      return place_on_whole_hosts();
  }
  return {};
}

void GreedyPlacer::take_back(const std::vector<Rank>& ranks) {
  for (std::size_t shard = 0; shard < ranks.size(); ++shard)
    loads_.remove(ranks[shard], uses_[shard]);
}

Badness GreedyPlacer::badness(const std::vector<Rank>& ranks) const {
  std::int64_t excess = 0;
  double worst = 0;
  for (const Rank rank : ranks) {
    excess += excess_bytes(rank);
    worst = std::max(worst, loads_.rating(rank));
  }
  return {excess, worst, time_ms_};
}

bool GreedyPlacer::is_allowed(std::size_t shard, Rank rank) const {
  if (view_.ranks != nullptr && !view_.ranks->contains(rank)) return false;
  const RankSet* const allowed =
      problem_.rules().allowed(option_.table, static_cast<std::uint32_t>(shard));
  return allowed == nullptr || allowed->contains(rank);
}

std::vector<Rank> GreedyPlacer::place_in_order(Rank first) {
  std::vector<Rank> ranks(uses_.size());
  std::iota(ranks.begin(), ranks.end(), first);
  for (std::size_t shard = 0; shard < ranks.size(); ++shard) {
    if (!is_allowed(shard, ranks[shard])) return {};
  }
  for (std::size_t shard = 0; shard < ranks.size(); ++shard)
    loads_.add(ranks[shard], uses_[shard]);
  return ranks;
}

// The order in which shards are placed: first the shards that rules leave the fewest ranks.
std::vector<std::size_t> GreedyPlacer::order(Rank first, std::uint32_t count) const {
  std::vector<std::size_t> order(uses_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (!problem_.rules().constrains(option_.table)) return order;
  std::vector<std::size_t> places(uses_.size(), 0);
  for (std::size_t shard = 0; shard < uses_.size(); ++shard) {
    for (Rank rank = first; rank < first + count; ++rank)
      places[shard] += is_allowed(shard, rank) ? 1U : 0U;
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return places[a] < places[b]; });
  return order;
}

// The best rank for a shard beside the shards already placed; empty if there is none.
std::optional<Rank> GreedyPlacer::best_rank(std::size_t shard, Rank first, std::uint32_t count,
                                            const std::vector<Rank>& taken) {
  std::optional<Rank> best;
  Badness least;
  for (Rank rank = first; rank < first + count; ++rank) {
    if (!is_allowed(shard, rank)) continue;
    if (std::find(taken.begin(), taken.end(), rank) != taken.end()) continue;
    loads_.add(rank, uses_[shard]);
    const Badness now{excess_bytes(rank), loads_.rating(rank), 0};
    loads_.remove(rank, uses_[shard]);
    if (best && least <= now) continue;
    best = rank;
    least = now;
  }
  return best;
}

std::vector<Rank> GreedyPlacer::place_in_window(Rank first, std::uint32_t count) {
  const bool distinct = problem_.rules().distinct_ranks(option_.table);
  std::vector<Rank> ranks(uses_.size());
  std::vector<Rank> taken;  // ranks that other shards may not use
  const std::vector<std::size_t> shards = order(first, count);
  for (std::size_t i = 0; i < shards.size(); ++i) {
    const std::optional<Rank> best = best_rank(shards[i], first, count, taken);
    if (!best) {
      for (std::size_t k = 0; k < i; ++k)
        loads_.remove(ranks[shards[k]], uses_[shards[k]]);
      return {};
    }
    loads_.add(*best, uses_[shards[i]]);
    ranks[shards[i]] = *best;
    if (distinct) taken.push_back(*best);
  }
  return ranks;
}

std::vector<Rank> GreedyPlacer::place_on_best_host() {
  std::optional<Rank> best;
  Badness least;
  for (Rank first = 0; first < available_.num_hosted_ranks(); first += local()) {
    const std::vector<Rank> ranks = place_in_window(first, local());
    if (ranks.empty()) continue;
    const Badness now = badness(ranks);
    take_back(ranks);
    if (best && least <= now) continue;
    best = first;
    least = now;
  }
  return best ? place_in_window(*best, local()) : std::vector<Rank>();
}

// Places blocks of local_world_size shards, each in rank order on the best host.
std::vector<Rank> GreedyPlacer::place_on_whole_hosts() {
  if (uses_.size() % local() != 0) return {};
  std::vector<Rank> ranks;
  while (ranks.size() < uses_.size()) {
    std::optional<Rank> best;
    Badness least;
    for (Rank first = 0; first < available_.num_hosted_ranks(); first += local()) {
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
      loads_.add(*best + i, uses_[ranks.size()]);
      ranks.push_back(*best + i);
    }
  }
  return ranks;
}

std::optional<Badness> GreedyPlacer::try_host(Rank first, const std::vector<Rank>& taken) {
  const bool distinct = problem_.rules().distinct_ranks(option_.table);
  if (distinct && std::find(taken.begin(), taken.end(), first) != taken.end()) return std::nullopt;
  std::int64_t excess = 0;
  double worst = 0;
  for (std::uint32_t i = 0; i < local(); ++i) {
    const std::size_t shard = taken.size() + i;
    if (!is_allowed(shard, first + i)) return std::nullopt;
    loads_.add(first + i, uses_[shard]);
    excess += excess_bytes(first + i);
    worst = std::max(worst, loads_.rating(first + i));
    loads_.remove(first + i, uses_[shard]);
  }
  return Badness{excess, worst, 0};
}

}  // namespace shardwright::embedding
