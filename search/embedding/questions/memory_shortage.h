// Proofs that tables fit in no plan, which consider memory only.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"
#include "search/budget.h"

namespace shardwright::embedding {

// States that some tables need more memory than there is.
struct MemoryShortage {
  enum class Kind : std::uint8_t {
    kTable,     // every option of one table has a shard that fits no empty rank
    kTogether,  // tables that must share a rank, a host or a set of ranks do not fit there
    kTotal,     // all tables together exceed all ranks together
    kShards,    // large shards need more ranks than there are, one rank each
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
  std::vector<TableId> tables;  // the tables that do not fit
  // For kTable, the bytes of a shard and of a rank. Otherwise a lower bound of the bytes that
  // `tables` need, and the bytes of all ranks where these tables may be. For kShards, a large shard
  // counts as the part of a rank that no other shard can use.
  std::int64_t needed_bytes = 0;
  std::int64_t available_bytes = 0;
  const ShardingOption* closest = nullptr;  // kTable: the option that lacks the fewest bytes
  Rank rank = 0;                            // kTable: the rank where `closest` lacks least
  std::string place;                        // kTogether: JSON pointer of the rule; may be empty
};

// Tries the kinds of proof in the order of Kind and returns the first that succeeds. Returns
// nothing if none succeeds, although there may still be no plan. An interrupted budget may skip
// proofs. `available`: the topology less reservation and margin.
// Time: a few dozen passes, each O(options x ranks) if ranks differ and O(options) otherwise.
std::optional<MemoryShortage> prove_memory_shortage(const SearchSpace& space,
                                                    const Topology& available,
                                                    const Budget& budget = {});

}  // namespace shardwright::embedding
