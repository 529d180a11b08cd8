// Tables that must share ranks which together have too little memory.
#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "search/embedding/questions/explain/shortage/shortage_proofs.h"

namespace shardwright::embedding {
namespace {

// If the group fits on no rank or host: the shortage on the one where it lacks least.
std::optional<MemoryShortage> shortage_of_group(const MemoryNeeds& needs,
                                                const PlacementRules::Group& group) {
  std::vector<const TableNeeds*> tables;
  std::size_t number = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(number++)) return std::nullopt;
    if (std::binary_search(group.tables.begin(), group.tables.end(), table.table))
      tables.push_back(&table);
  }
  std::vector<Rank> ranks(group.on == GroupScope::kRank ? 1 : needs.available().local_world_size());
  std::optional<MemoryShortage> closest;
  for (Rank first = 0; first < needs.room().size(); first += static_cast<Rank>(ranks.size())) {
    std::iota(ranks.begin(), ranks.end(), first);
    auto shortage = needs.exceeds(tables, ranks);
    if (!shortage) return std::nullopt;
    const auto lack = [](const MemoryShortage& s) { return s.needed_bytes - s.available_bytes; };
    if (closest && lack(*closest) <= lack(*shortage)) continue;
    closest = std::move(shortage);
    closest->rank = first;
  }
  closest->kind = MemoryShortage::Kind::kTogether;
  closest->place = group.place;
  return closest;
}

// The only ranks on which the table may be; null if there is no such rule for all of its shards.
const RankSet* ranks_of_table(const PlacementRules& rules, TableId table) {
  return rules.same_for_all_shards(table) ? rules.allowed(table, 0) : nullptr;
}

// Tables that may be only on some set of ranks, or on a part of it.
std::optional<MemoryShortage> shortage_of_rank_sets(const MemoryNeeds& needs) {
  if (!needs.rules().any()) return std::nullopt;
  std::set<std::vector<Rank>> sets;
  std::size_t number = 0;
  for (const TableNeeds& table : needs.tables()) {
    if (needs.stopped(number++)) return std::nullopt;
    if (const RankSet* const set = ranks_of_table(needs.rules(), table.table))
      sets.emplace(set->ranks().begin(), set->ranks().end());
  }
  for (const std::vector<Rank>& ranks : sets) {
    std::vector<const TableNeeds*> inside;
    for (const TableNeeds& table : needs.tables()) {
      if (needs.stopped(number++)) return std::nullopt;
      const RankSet* const set = ranks_of_table(needs.rules(), table.table);
      if (set != nullptr &&
          std::includes(ranks.begin(), ranks.end(), set->ranks().begin(), set->ranks().end())) {
        inside.push_back(&table);
      }
    }
    if (auto shortage = needs.exceeds(inside, ranks)) {
      shortage->kind = MemoryShortage::Kind::kTogether;
      shortage->rank = ranks.front();
      return shortage;
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<MemoryShortage> shortage_of_groups(const MemoryNeeds& needs) {
  for (const PlacementRules::Group& group : needs.rules().groups()) {
    if (!group.together) continue;
    if (auto shortage = shortage_of_group(needs, group)) return shortage;
  }
  return shortage_of_rank_sets(needs);
}

}  // namespace shardwright::embedding
