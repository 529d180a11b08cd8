// What every rank of a class holds, whatever the plan.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/node/open_options.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Load and bytes of shards on one rank, rounded down.
struct RankUse {
  double load = 0;
  PerTier<double> bytes = {};
};

RankUse use_of(const ShardCost& cost, PerfModel model);
RankUse least_of(const RankUse& a, const RankUse& b);
RankUse sum_of(const RankUse& a, const RankUse& b);
RankUse without(const RankUse& all, const RankUse& own);

// Returns true if one rank of the class can hold the shards that use this, or more.
bool fits(const CertifiedClasses& classes, std::size_t rank_class, const RankUse& use);

// A table all of whose open options have a shard on every rank takes at least the cheapest of these
// shards on every rank. A pinned table does so on the ranks of its class. Where ranks are apart, a
// table all of whose open options have a shard on a rank takes at least the cheapest one there.
// Thread safety: immutable.
class CommonUse {
 public:
  explicit CommonUse(const OpenOptions& options);

  // Of all tables.
  const RankUse& on(std::size_t rank_class) const { return all_[rank_class]; }
  // Of all tables but one, rounded down.
  RankUse on_beside(std::size_t rank_class, std::size_t table) const;

 private:
  std::vector<RankUse> use_of_table(const OpenOptions& options, std::size_t table) const;
  std::vector<RankUse> use_of_placed(const OpenOptions& options, std::size_t table) const;
  RankUse smallest_of(const OpenOptions& options, std::size_t table) const;

  std::vector<RankUse> all_;                    // by class
  std::vector<std::vector<RankUse>> of_table_;  // by class; empty if it takes nothing everywhere
};

}  // namespace shardwright::embedding
