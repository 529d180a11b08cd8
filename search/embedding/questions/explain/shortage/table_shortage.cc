// A table whose every option has a shard that fits no rank.
#include <algorithm>
#include <limits>
#include <utility>

#include "search/embedding/questions/explain/shortage/shortage_proofs.h"

namespace shardwright::embedding {
namespace {

// The rank that lacks least for a shard, and what the shard needs there.
struct ClosestRank {
  std::int64_t lack = std::numeric_limits<std::int64_t>::max();
  MemoryShortage::Tier tier = MemoryShortage::Tier::kHbm;
  std::int64_t needed = 0;
  Rank rank = 0;
};

void consider_rank(const Storage& shard, const Storage& room, Rank rank, ClosestRank& closest) {
  const MemoryTier tier = scarcest_tier(shard, room);
  const std::int64_t over = shard == Storage() ? 0 : (shard - room)[tier].value();
  const std::int64_t lack = std::max(over, std::int64_t{0});
  if (lack >= closest.lack) return;
  closest = {lack, as_shortage(tier), shard[tier].value(), rank};
}

ClosestRank closest_rank(const MemoryNeeds& needs, const ShardingOption& option,
                         std::uint32_t shard, const Storage& storage) {
  ClosestRank closest;
  const RankSet* const allowed = needs.rules().allowed(option.table, shard);
  if (needs.available().uniform() && allowed == nullptr) {
    consider_rank(storage, needs.room().front(), 0, closest);
    return closest;
  }
  for (Rank rank = 0; rank < needs.room().size(); ++rank) {
    if (allowed == nullptr || allowed->contains(rank))
      consider_rank(storage, needs.room()[rank], rank, closest);
  }
  return closest;
}

// Of the shard that lacks most on the rank where it lacks least.
ClosestRank lack_of(const MemoryNeeds& needs, const ShardingOption& option) {
  ClosestRank worst;
  worst.lack = 0;
  std::uint32_t shard = 0;
  const std::vector<Storage>& room = needs.room();
  const bool in_order = option.partition_by() == PartitionBy::kUniform;
  const bool equal_shards =
      in_order ? needs.available().uniform() : !needs.rules().constrains(option.table);
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    const std::uint32_t count = option.layout->extents[run].count;
    const Storage& storage = option.costs[run].storage;
    for (std::uint32_t k = 0; k < (equal_shards ? std::min(count, 1U) : count); ++k) {
      ClosestRank closest;
      if (in_order) {
        consider_rank(storage, room[std::min<std::size_t>(shard + k, room.size() - 1)], shard + k,
                      closest);
      } else {
        closest = closest_rank(needs, option, shard + k, storage);
      }
      if (closest.lack > worst.lack) worst = closest;
    }
    shard += count;
  }
  return worst;
}

std::optional<MemoryShortage> keep_fitting_options_of(const MemoryNeeds& needs, TableNeeds& table) {
  std::optional<MemoryShortage> shortage;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  std::vector<OptionNeed> fitting;
  for (const OptionNeed& need : table.options) {
    const ClosestRank closest = lack_of(needs, *need.option);
    if (closest.lack == 0) fitting.push_back(need);
    if (closest.lack >= least) continue;
    least = closest.lack;
    shortage.emplace();
    shortage->kind = MemoryShortage::Kind::kTable;
    shortage->tier = closest.tier;
    shortage->tables = {table.table};
    shortage->needed_bytes = closest.needed;
    shortage->available_bytes = bytes_in(closest.tier, needs.available().storage()[closest.rank]);
    shortage->closest = need.option;
    shortage->rank = closest.rank;
  }
  table.options = std::move(fitting);
  return table.options.empty() ? shortage : std::nullopt;
}

}  // namespace

std::optional<MemoryShortage> keep_fitting_options(MemoryNeeds& needs) {
  std::size_t tables = 0;
  for (TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) return std::nullopt;
    if (auto shortage = keep_fitting_options_of(needs, table)) return shortage;
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
