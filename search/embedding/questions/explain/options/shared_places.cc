#include "search/embedding/questions/explain/options/shared_places.h"

#include <algorithm>
#include <utility>

#include "core/embedding/problem/placement_spec.h"

namespace shardwright::embedding {
namespace {

using Mask = std::vector<bool>;

// The places that a group rule speaks of: single ranks, or hosts.
struct Places {
  std::uint32_t size;  // ranks per place
  std::uint32_t count;

  Places(const Problem& problem, GroupScope on)
      : size(on == GroupScope::kRank ? 1 : problem.topology().local_world_size()),
        count(problem.topology().world_size() / size) {}
};

// The places that other tables of the group use.
Mask places_of_others(const PlacementRules::Group& group, const Places& places, const Plan& plan,
                      std::size_t position) {
  Mask used(places.count);
  for (std::size_t i = 0; i < plan.size(); ++i) {
    if (i == position ||
        !std::binary_search(group.tables.begin(), group.tables.end(), plan[i].option->table)) {
      continue;
    }
    for (std::uint32_t shard = 0; shard < plan[i].option->num_shards(); ++shard)
      used[plan[i].rank(shard) / places.size] = true;
  }
  return used;
}

}  // namespace

SharedPlaces::SharedPlaces(const Problem& problem, const Plan& plan, std::size_t position)
    : problem_(problem), table_(plan[position].option->table) {
  const PlacementRules& rules = problem.rules();
  const std::uint32_t world = problem.topology().world_size();
  if (rules.groups_of(table_).empty()) {
    sets_.push_back(nullptr);
    return;
  }
  Mask open(world, true);
  std::uint32_t one_of = world;  // ranks of the place that all shards must share
  for (const std::uint32_t g : rules.groups_of(table_)) {
    const PlacementRules::Group& group = rules.groups()[g];
    const Places places(problem, group.on);
    const Mask used = places_of_others(group, places, plan, position);
    const bool alone = std::find(used.begin(), used.end(), true) == used.end();
    if (group.together) one_of = std::min(one_of, places.size);
    if (alone) continue;
    for (Rank rank = 0; rank < world; ++rank)
      open[rank] = open[rank] && used[rank / places.size] == group.together;
  }
  for (Rank first = 0; first < world; first += one_of) {
    std::vector<Rank> ranks;
    for (Rank rank = first; rank < first + one_of; ++rank) {
      if (open[rank]) ranks.push_back(rank);
    }
    if (!ranks.empty()) sets_.push_back(&owned_.emplace_back(std::move(ranks), world));
  }
}

std::vector<std::string> SharedPlaces::rules_against(const ShardingOption& option) const {
  const Table& table = problem_.table(table_);
  const TablePlacement& own = table.placement;
  const std::string place = constraints_place(table.name);
  if (own.max_shards && option.num_shards() > *own.max_shards) return {place + "/max_shards"};
  std::vector<std::string> rules;
  if (own.ranks) rules.push_back(place + "/ranks");
  if (own.hosts) rules.push_back(place + "/hosts");
  if (!own.shard_ranks.empty()) rules.push_back(place + "/shard_ranks");
  if (own.distinct_ranks && option.num_shards() > 1) rules.push_back(place + "/distinct_ranks");
  for (const std::uint32_t g : problem_.rules().groups_of(table_))
    rules.push_back(problem_.rules().groups()[g].place);
  return rules;
}

}  // namespace shardwright::embedding
