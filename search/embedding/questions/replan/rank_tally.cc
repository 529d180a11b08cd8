#include "search/embedding/questions/replan/rank_tally.h"

#include <algorithm>

namespace shardwright {

using embedding::Rank;
using embedding::ShardCost;
using embedding::Storage;

RankTally::RankTally(const embedding::Problem& problem, const embedding::Topology& available)
    : problem_(&problem),
      available_(&available),
      by_time_(problem.spec().perf_model == embedding::PerfModel::kPerf),
      ms_(available.world_size(), 0.0),
      used_(available.world_size()) {}

void RankTally::change(const embedding::Assignment& assignment, int sign) {
  const embedding::ShardingOption& option = *assignment.option;
  std::uint32_t shard = 0;
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    for (std::uint32_t k = 0; k < option.layout->extents[run].count; ++k)
      change(assignment.rank(shard++), option.costs[run], sign);
  }
}

void RankTally::change(Rank rank, const ShardCost& cost, int sign) {
  if (sign > 0) {
    ms_[rank] += cost.perf.total().value();
    used_[rank] += cost.storage;
  } else {
    ms_[rank] -= cost.perf.total().value();
    used_[rank] -= cost.storage;
  }
}

double RankTally::value(Rank rank) const {
  if (!by_time_) return static_cast<double>(used_[rank].hbm.value());
  const std::vector<double>& factors = problem_->spec().calibration.rank_time;
  return factors.empty() ? ms_[rank] : ms_[rank] * factors[rank];
}

// A rank that holds nothing fits whatever the reservation left of it.
std::int64_t RankTally::excess_bytes(Rank rank) const {
  const Storage used = used_[rank];
  if (used == Storage()) return 0;
  const Storage& room = available_->storage()[rank];
  return std::max<std::int64_t>((used.hbm - room.hbm).value(), 0) +
         std::max<std::int64_t>((used.ddr - room.ddr).value(), 0);
}

double RankTally::rating() const {
  double worst = 0;
  for (Rank rank = 0; rank < ms_.size(); ++rank)
    worst = std::max(worst, value(rank));
  return worst;
}

std::int64_t RankTally::excess_bytes() const {
  std::int64_t sum = 0;
  for (Rank rank = 0; rank < ms_.size(); ++rank)
    sum += excess_bytes(rank);
  return sum;
}

}  // namespace shardwright
