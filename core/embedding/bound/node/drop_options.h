// Drops options that no plan below the bound has. BoundNode says why.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/bound/node/open_options.h"
#include "core/embedding/bound/pricing/capacity_multipliers.h"

namespace shardwright::embedding {

// Drops what does not fit beside the shards that every rank holds, in up to 16 rounds. Returns how
// many it took. O(open options x classes) for each.
std::uint64_t drop_by_common_use(OpenOptions& options);

// Drops what is too dear at these multipliers, which are by rank class; where ranks are apart, also
// ranks where a shard of an option would be. O(open options x classes).
void drop_by_reduced_costs(OpenOptions& options,
                           const std::vector<CapacityMultipliers>& multipliers);

}  // namespace shardwright::embedding
