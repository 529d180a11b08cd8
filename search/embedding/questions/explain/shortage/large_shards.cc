// Shards of more than half a rank: each of them blocks a rank.
//
// A shard above a threshold counts as a whole rank, less what may still join it. Source: dual
// feasible functions of bin packing (Fekete, Schepers 2001), U^eps.
#include <algorithm>
#include <set>

#include "search/embedding/questions/explain/shortage/shortage_proofs.h"

namespace shardwright::embedding {
namespace {

using Tier = MemoryShortage::Tier;

// Each threshold costs a pass over all options.
constexpr std::size_t kMostThresholds = 32;

// The sizes at which a shard just cannot join one of the large shards.
std::vector<std::int64_t> thresholds(const MemoryNeeds& needs, Tier tier, std::int64_t room) {
  std::set<std::int64_t> sizes{room - room / 2};
  std::size_t tables = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) return {};
    for (const OptionNeed& need : table.options) {
      for (const ShardCost& cost : need.option->costs) {
        const std::int64_t size = bytes_in(tier, cost.storage);
        if (size > room / 2) sizes.insert(room - size + 1);
      }
    }
  }
  std::vector<std::int64_t> chosen;
  const std::size_t step = (sizes.size() + kMostThresholds - 1) / kMostThresholds;
  std::size_t i = 0;
  for (const std::int64_t size : sizes) {
    if (i++ % step == 0) chosen.push_back(size);
  }
  return chosen;
}

// What a shard blocks of a rank: all of it if nothing of threshold size can join the shard, and
// nothing if the shard itself is smaller than the threshold.
struct Blocking {
  Tier tier;
  std::int64_t room;
  std::int64_t threshold;

  std::int64_t of_shard(std::int64_t size) const {
    if (size > room - threshold) return room;
    return size < threshold ? 0 : size;
  }
  std::int64_t of_option(const ShardingOption& option) const {
    std::int64_t sum = 0;
    for (std::size_t run = 0; run < option.costs.size(); ++run) {
      const std::int64_t count = option.layout->extents[run].count;
      const std::int64_t each = of_shard(bytes_in(tier, option.costs[run].storage));
      const bool overflows = each > kMostBytes / std::max<std::int64_t>(count, 1);
      sum = add_bytes(sum, overflows ? kMostBytes : count * each);
    }
    return sum;
  }
};

std::optional<MemoryShortage> blocked_shortage(const MemoryNeeds& needs, const Blocking& blocking) {
  MemoryShortage shortage;
  shortage.kind = MemoryShortage::Kind::kShards;
  shortage.tier = blocking.tier;
  std::size_t tables = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(tables++)) return std::nullopt;
    std::int64_t least = kMostBytes;
    for (const OptionNeed& need : table.options)
      least = std::min(least, blocking.of_option(*need.option));
    if (least > 0) shortage.tables.push_back(table.table);
    shortage.needed_bytes = add_bytes(shortage.needed_bytes, least);
  }
  for (const Storage& room : needs.room()) {
    // A smaller rank counts as large as the largest one.
    if (bytes_in(blocking.tier, room) > 0)
      shortage.available_bytes = add_bytes(shortage.available_bytes, blocking.room);
  }
  if (shortage.needed_bytes <= shortage.available_bytes) return std::nullopt;
  return shortage;
}

}  // namespace

std::optional<MemoryShortage> shortage_by_large_shards(const MemoryNeeds& needs) {
  for (const Tier tier : {Tier::kHbm, Tier::kDdr, Tier::kSsd}) {
    std::int64_t room = 0;
    for (const Storage& storage : needs.room())
      room = std::max(room, bytes_in(tier, storage));
    if (room == 0) continue;
    for (const std::int64_t threshold : thresholds(needs, tier, room)) {
      if (auto shortage = blocked_shortage(needs, {tier, room, threshold})) return shortage;
    }
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
