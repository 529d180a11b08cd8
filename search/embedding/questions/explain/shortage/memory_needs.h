// The bytes of every option and the memory of every rank, as the proofs of a shortage read them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "search/embedding/questions/explain/shortage/memory_shortage.h"

namespace shardwright::embedding {

// Sums of bytes stop here; no machine has as much.
inline constexpr std::int64_t kMostBytes = std::int64_t{1} << 61;
std::int64_t add_bytes(std::int64_t a, std::int64_t b);
// The storage in one tier; for kBoth and kWeighted the sum of both tiers.
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
  MemoryNeeds(const SearchSpace& space, const Topology& available);

  const PlacementRules& rules() const { return rules_; }
  const Topology& available() const { return available_; }
  // Free memory by rank. A rank whose reservation exceeds its memory must stay empty and has none.
  const std::vector<Storage>& room() const { return room_; }

  std::vector<TableNeeds>& tables() { return tables_; }
  const std::vector<TableNeeds>& tables() const { return tables_; }

  // Returns a shortage if the tables need more than the ranks have, in both tiers together or in
  // one of them. Its kind is the caller's to set.
  std::optional<MemoryShortage> exceeds(const std::vector<const TableNeeds*>& tables,
                                        const std::vector<Rank>& ranks) const;

 private:
  const PlacementRules& rules_;
  const Topology& available_;
  std::vector<TableNeeds> tables_;
  std::vector<Storage> room_;
};

}  // namespace shardwright::embedding
