#include "core/embedding/absence/interchangeable_ranks.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace shardwright::embedding {
namespace {

using Traits = std::vector<std::int64_t>;

// The run of every shard of an option.
std::vector<std::uint32_t> run_of_shards(const ShardingOption& option) {
  std::vector<std::uint32_t> runs;
  for (std::uint32_t run = 0; run < option.layout->extents.size(); ++run)
    runs.insert(runs.end(), option.layout->extents[run].count, run);
  return runs;
}

// An option that fixes the ranks of its shards, or their places within a host, tells apart the
// ranks on which these shards are of different runs.
void add_fixed_shards(const ShardingOption& option, std::uint32_t local,
                      std::vector<Traits>& traits) {
  const bool uniform = option.partition_by() == PartitionBy::kUniform;
  const bool whole_hosts = option.partition_by() == PartitionBy::kMultiHost ||
                           option.sharding_type == ShardingType::kTableRowWise;
  if ((!uniform && !whole_hosts) || option.layout->extents.size() < 2) return;
  const std::vector<std::uint32_t> runs = run_of_shards(option);
  for (std::size_t rank = 0; rank < traits.size(); ++rank) {
    if (uniform) traits[rank].push_back(rank < runs.size() ? std::int64_t{runs[rank]} : -1);
    for (std::size_t shard = rank % local; whole_hosts && shard < runs.size(); shard += local)
      traits[rank].push_back(runs[shard]);
  }
}

// All sets of ranks that rules name.
std::set<const RankSet*> rank_sets(const SearchSpace& space) {
  std::set<const RankSet*> sets;
  const PlacementRules& rules = space.problem().rules();
  for (const ShardingOption& option : space.options()) {
    if (!rules.constrains(option.table)) continue;
    for (std::uint32_t shard = 0; shard < option.num_shards(); ++shard) {
      if (const RankSet* const set = rules.allowed(option.table, shard)) sets.insert(set);
    }
  }
  return sets;
}

// Numbers equal values alike.
template <class Value>
std::vector<std::uint32_t> numbered(const std::vector<Value>& values) {
  std::map<Value, std::uint32_t> known;
  std::vector<std::uint32_t> numbers;
  for (const Value& value : values)
    numbers.push_back(
        known.try_emplace(value, static_cast<std::uint32_t>(known.size())).first->second);
  return numbers;
}

}  // namespace

InterchangeableRanks::InterchangeableRanks(const SearchSpace& space, const Topology& available) {
  const std::uint32_t local = available.local_world_size();
  std::vector<Traits> traits;
  for (const Storage& room : available.storage())
    traits.push_back({room.hbm.value(), room.ddr.value()});
  // A set's number in this order depends on addresses, but which ranks are alike does not.
  for (const RankSet* const set : rank_sets(space)) {
    for (Rank rank = 0; rank < traits.size(); ++rank)
      traits[rank].push_back(set->contains(rank) ? 1 : 0);
  }
  for (const ShardingOption& option : space.options())
    add_fixed_shards(option, local, traits);
  kind_of_rank_ = numbered(traits);
  std::vector<std::vector<std::uint32_t>> hosts(available.num_hosts());
  for (std::size_t rank = 0; rank < kind_of_rank_.size(); ++rank)
    hosts[rank / local].push_back(kind_of_rank_[rank]);
  kind_of_host_ = numbered(hosts);
}

}  // namespace shardwright::embedding
