#include "search/embedding/questions/explain/shortage/memory_needs.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

using Tier = MemoryShortage::Tier;

std::int64_t least_bytes(const TableNeeds& table, Tier tier) {
  std::int64_t least = kMostBytes;
  for (const OptionNeed& need : table.options)
    least = std::min(least, bytes_in(tier, need.total));
  return least;
}

}  // namespace

std::int64_t add_bytes(std::int64_t a, std::int64_t b) { return std::min(a + b, kMostBytes); }

std::int64_t bytes_in(MemoryShortage::Tier tier, const Storage& storage) {
  switch (tier) {
    case MemoryShortage::Tier::kHbm:
      return storage.hbm.value();
    case MemoryShortage::Tier::kDdr:
      return storage.ddr.value();
    case MemoryShortage::Tier::kSsd:
      return storage.ssd.value();
    case MemoryShortage::Tier::kAll:
    case MemoryShortage::Tier::kWeighted:
      break;
  }
  return add_bytes(add_bytes(storage.hbm.value(), storage.ddr.value()), storage.ssd.value());
}

MemoryNeeds::MemoryNeeds(const SearchSpace& space, const Topology& available, const Budget& budget)
    : rules_(space.problem().rules()), available_(available), budget_(budget) {
  add_tables(space);
  for (Storage room : available.storage()) {
    if (room.is_negative()) room = Storage();
    room_.push_back(room);
  }
}

void MemoryNeeds::add_tables(const SearchSpace& space) {
  constexpr std::size_t kNone = ~std::size_t{0};
  std::vector<std::size_t> position(space.problem().tables().size(), kNone);
  std::size_t options = 0;
  for (const ShardingOption& option : space.options()) {
    if (stopped(options++)) {
      tables_.clear();
      return;
    }
    std::size_t& at = position[option.table.index()];
    if (at == kNone) {
      at = tables_.size();
      tables_.push_back({option.table, {}});
    }
    tables_[at].options.push_back({&option, option.total_storage()});
  }
}

std::optional<MemoryShortage> MemoryNeeds::exceeds(const std::vector<const TableNeeds*>& tables,
                                                   const std::vector<Rank>& ranks) const {
  for (const Tier tier : {Tier::kAll, Tier::kHbm, Tier::kDdr, Tier::kSsd}) {
    std::int64_t needed = 0;
    std::int64_t room = 0;
    for (std::size_t i = 0; i < tables.size() && !stopped(i); ++i)
      needed = add_bytes(needed, least_bytes(*tables[i], tier));
    for (const Rank rank : ranks)
      room = add_bytes(room, bytes_in(tier, room_[rank]));
    if (needed <= room) continue;
    MemoryShortage shortage;
    shortage.tier = tier;
    for (const TableNeeds* const table : tables)
      shortage.tables.push_back(table->table);
    shortage.needed_bytes = needed;
    shortage.available_bytes = room;
    return shortage;
  }
  return std::nullopt;
}

}  // namespace shardwright::embedding
