#include "search/embedding/questions/place_anew.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "search/embedding/model/rank_state/greedy_placer.h"

namespace shardwright::embedding {

std::optional<Assignment> place_anew(const Problem& problem, const Topology& available,
                                     std::span<const ShardingOption* const> options,
                                     PlanLoads& loads) {
  const double before = loads.rating();
  std::optional<Assignment> best;
  std::vector<Rank> best_ranks;
  Badness least;
  for (const ShardingOption* const option : options) {
    GreedyPlacer placer(problem, available, *option, loads);
    const std::vector<Rank> ranks = placer.place();
    if (ranks.empty()) continue;
    Badness now = placer.badness(ranks);
    std::get<1>(now) = std::max(std::get<1>(now), before);
    placer.take_back(ranks);
    if (best && least <= now) continue;
    const bool uniform = option->partition_by() == PartitionBy::kUniform;
    best = {option, uniform ? SharedArray<Rank>() : SharedArray<Rank>(std::span(ranks))};
    least = now;
  }
  if (best) loads.add(*best);
  return best;
}

}  // namespace shardwright::embedding
