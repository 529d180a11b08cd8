// Proofs, by memory alone, that tables fit in no plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"

namespace shardwright::embedding {

// Tables need more memory than there is.
struct MemoryShortage {
  enum class Kind : std::uint8_t {
    kTable,     // every option of a table has a shard that fits no rank, even if all are empty
    kTogether,  // tables that must share a rank, a host or a set of ranks
    kTotal,     // all tables, on all ranks
    kShards,    // large shards that block more ranks than there are
  };
  enum class Tier : std::uint8_t {
    kHbm,
    kDdr,
    kSsd,
    kAll,       // the sum of all tiers
    kWeighted,  // a weighted mean of all tiers
  };

  Kind kind = Kind::kTotal;
  Tier tier = Tier::kHbm;
  std::vector<TableId> tables;  // that do not fit
  // For kTable, the bytes of a shard and of a rank. Otherwise a lower bound of the bytes that the
  // tables need, and the bytes of the ranks on which they may be. For kShards, a large shard counts
  // as the part of a rank that no other shard can use.
  std::int64_t needed_bytes = 0;
  std::int64_t available_bytes = 0;
  const ShardingOption* closest = nullptr;  // kTable: the option that lacks least
  Rank rank = 0;                            // kTable: the rank where it lacks least
  std::string place;                        // kTogether: JSON pointer of the rule; may be empty
};

// Returns the first proof found, in the order of the kinds. An empty result does not mean that a
// plan exists. An interrupted budget may leave proofs out. `available` is the topology after
// reservation and margin.
// Time: O(options x ranks) if ranks differ, otherwise O(options), a few dozen times.
std::optional<MemoryShortage> prove_memory_shortage(const SearchSpace& space,
                                                    const Topology& available,
                                                    const Budget& budget = {});

}  // namespace shardwright::embedding
