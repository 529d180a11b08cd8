#include "search/embedding/questions/replan/place_anew.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "search/embedding/questions/replan/option_placer.h"

namespace shardwright {

using embedding::Assignment;
using embedding::PartitionBy;
using embedding::Problem;
using embedding::Rank;
using embedding::ShardingOption;
using embedding::Topology;

std::optional<Assignment> place_anew(const Problem& problem, const Topology& available,
                                     std::span<const ShardingOption* const> options,
                                     RankTally& tally) {
  const double before = tally.rating();
  std::optional<Assignment> best;
  std::vector<Rank> best_ranks;
  Badness least;
  for (const ShardingOption* const option : options) {
    OptionPlacer placer(problem, available, *option, tally);
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
  if (best) tally.add(*best);
  return best;
}

}  // namespace shardwright
