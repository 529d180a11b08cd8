// Proofs, by memory alone, that tables do not fit whatever the plan.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// More memory is needed than there is.
struct Misfit {
  enum class Kind : std::uint8_t {
    kTable,     // no option of one table has room for every shard, were the ranks empty
    kTogether,  // tables that must share a rank, a host or a set of ranks
    kTotal,     // all tables, on all ranks
    kShards,    // shards so large that too few share a rank
  };
  enum class Tier : std::uint8_t {
    kHbm,
    kDdr,
    kBoth,      // the sum of HBM and DDR
    kWeighted,  // a weighted mean of them, such that no division between them suffices
  };

  Kind kind = Kind::kTotal;
  Tier tier = Tier::kHbm;
  std::vector<TableId> tables;  // that do not fit
  // At the least, and at the most: of a shard and a rank for kTable, else of all tables and all
  // ranks that they may be on. For kShards the shards count as the shares of ranks that they block.
  std::int64_t needed_bytes = 0;
  std::int64_t available_bytes = 0;
  const ShardingOption* closest = nullptr;  // kTable: the option that lacks least
  Rank rank = 0;                            // kTable: where
  std::string place;                        // kTogether: JSON pointer of the rule; may be empty
};

// The first proof found, in the order of the kinds; empty where there is none, which does not mean
// that a plan exists. `available` is the topology after reservation and margin.
// Cost: O(options x ranks) where ranks differ, else O(options), a few dozen times.
std::optional<Misfit> prove_misfit(const SearchSpace& space, const Topology& available);

}  // namespace shardwright::embedding
