// Where shards may be: the ranks of equal shards, and how far those of a table may be apart.
#include <algorithm>

#include "core/embedding/bound/search/choices/table_choices.h"

namespace shardwright::embedding {

std::pair<std::size_t, std::size_t> EqualShards::places(Rank first, Rank end) const {
  const auto begin = std::lower_bound(ranks.begin(), ranks.end(), first);
  return {static_cast<std::size_t>(begin - ranks.begin()),
          static_cast<std::size_t>(std::lower_bound(begin, ranks.end(), end) - ranks.begin())};
}

std::size_t EqualShards::place_on(Rank rank) const {
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
  return at != ranks.end() && *at == rank ? static_cast<std::size_t>(at - ranks.begin())
                                          : ranks.size();
}

double time_scale_of(const ProblemSpec& spec, std::size_t rank) {
  const std::vector<double>& scale = spec.calibration.rank_time;
  return scale.empty() || spec.perf_model == PerfModel::kStorage ? 1 : scale[rank];
}

std::uint32_t reach_of(TableId table, const PlacementRules& rules, const Topology& available) {
  std::uint32_t ranks = available.world_size();
  for (const std::uint32_t i : rules.groups_of(table)) {
    const PlacementRules::Group& group = rules.groups()[i];
    if (!group.together) continue;
    ranks = std::min(ranks, group.on == GroupScope::kRank ? 1 : available.local_world_size());
  }
  return ranks;
}

bool fits_in(const TableChoice& choice, std::uint32_t ranks, const Topology& available) {
  if (choice.form == Form::kInOrder) return ranks == available.world_size();
  return choice.width(available.local_world_size()) <= ranks;
}

}  // namespace shardwright::embedding
