// Which ranks may hold equal shards, and at what load.
#include <algorithm>

#include "core/embedding/bound/search/choices/table_choices.h"

namespace shardwright::embedding {

std::pair<std::size_t, std::size_t> EqualShards::places(Rank first, Rank end) const {
  const auto begin = std::lower_bound(ranks.begin(), ranks.end(), first);
  return {static_cast<std::size_t>(begin - ranks.begin()),
          static_cast<std::size_t>(std::lower_bound(begin, ranks.end(), end) - ranks.begin())};
}

bool EqualShards::may_be_on(Rank rank) const {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

double time_scale_of(const ProblemSpec& spec, std::size_t rank) {
  const std::vector<double>& scale = spec.calibration.rank_time;
  return scale.empty() || spec.perf_model == PerfModel::kStorage ? 1 : scale[rank];
}

}  // namespace shardwright::embedding
