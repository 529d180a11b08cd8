// Drops options that no plan below the bound has. BoundNode says why.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/node/open_options.h"
#include "core/embedding/bound/node/rank_use.h"
#include "core/embedding/bound/pricing/capacity_multipliers.h"

namespace shardwright::embedding {

// A table all of whose open options have a shard on every rank takes at least the cheapest of these
// shards on every rank.
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

  std::vector<RankUse> all_;                    // by class
  std::vector<std::vector<RankUse>> of_table_;  // by class; empty if it takes nothing everywhere
};

// Drops what does not fit beside the shards that every rank holds, in up to 16 rounds. Returns how
// many it took. O(open options x classes) for each.
std::uint64_t drop_by_common_use(OpenOptions& options);

// Drops what is too dear at these multipliers, which are by rank class. O(open options x classes).
void drop_by_reduced_costs(OpenOptions& options,
                           const std::vector<CapacityMultipliers>& multipliers);

}  // namespace shardwright::embedding
