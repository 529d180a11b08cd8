// The bytes of every option and the memory of every rank, as the proofs of a shortage read them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"
#include "search/embedding/questions/explain/shortage/memory_shortage.h"

namespace shardwright::embedding {

// Sums of bytes stop here; no machine has as much.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
std::int64_t add_bytes(std::int64_t a, std::int64_t b);
constexpr MemoryShortage::Tier as_shortage(MemoryTier tier) {
  return static_cast<MemoryShortage::Tier>(tier);
}
// The storage in one tier; for kAll and kWeighted the sum of all tiers.
std::int64_t bytes_in(MemoryShortage::Tier tier, const Storage& storage);

struct OptionNeed {
  const ShardingOption* option = nullptr;
  Storage total;  // over all shards
};

struct TableNeeds {
  TableId table;
  std::vector<OptionNeed> options;
};

// Thread safety: const members may be called from any thread. Refers to its arguments.
class MemoryNeeds {
 public:
  // Has no tables if the budget is interrupted meanwhile.
  MemoryNeeds(const SearchSpace& space, const Topology& available, const Budget& budget);

  // Returns true if the budget was interrupted; asks it once per so many numbers. A proof that then
  // leaves out whole tables needs too little memory and shows nothing wrong.
  bool stopped(std::size_t number) const {
    return number % kStopInterval == 0 && budget_.interrupted().has_value();
  }

  const PlacementRules& rules() const { return rules_; }
  const Topology& available() const { return available_; }
  // Free memory by rank. A rank whose reservation exceeds its memory must stay empty and has none.
  const std::vector<Storage>& room() const { return room_; }

  std::vector<TableNeeds>& tables() { return tables_; }
  const std::vector<TableNeeds>& tables() const { return tables_; }

  // Returns a shortage if the tables need more than the ranks have, in all tiers together or in one
  // of them. Its kind is the caller's to set.
  std::optional<MemoryShortage> exceeds(const std::vector<const TableNeeds*>& tables,
                                        const std::vector<Rank>& ranks) const;

 private:
  static constexpr std::size_t kStopInterval = 1024;

  void add_tables(const SearchSpace& space);

  const PlacementRules& rules_;
  const Topology& available_;
  const Budget& budget_;
  std::vector<TableNeeds> tables_;
  std::vector<Storage> room_;
};

}  // namespace shardwright::embedding
