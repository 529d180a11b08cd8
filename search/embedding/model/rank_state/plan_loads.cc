#include "search/embedding/model/rank_state/plan_loads.h"

#include <algorithm>

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

}  // namespace shardwright::embedding
