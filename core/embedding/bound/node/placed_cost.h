// What an option takes of single ranks at their prices.
#pragma once

#include <array>
#include <vector>

#include "core/embedding/bound/node/open_options.h"
#include "core/embedding/bound/pricing/capacity_multipliers.h"

namespace shardwright::embedding {

// What all shards take at least, rounded down, each on the cheapest rank that may have it. An
// option that lies on one host does so here, one that fills hosts fills them, and every rank that
// holds a shard gets one. Infinite if that is not possible. `multipliers`: by rank. Precondition:
// ranks are apart. O(runs x ranks).
double placed_cost(const OpenOptions& options, const OpenOption& own,
                   const std::vector<CapacityMultipliers>& multipliers);

using RankSums = std::array<double, 32>;  // by rank class, one per bit

// The same if one more rank holds a shard, for every rank. Not for options on all ranks.
RankSums placed_costs(const OpenOptions& options, const OpenOption& own,
                      const std::vector<CapacityMultipliers>& multipliers);

}  // namespace shardwright::embedding
