// Among allocations of equal rating: less memory on the fullest rank, then fewer moved shards.
#pragma once

#include <cstdint>

#include "search/budget.h"
#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {

// Changes single tables and shards while no rank's load rises above the largest one. First lowers
// the HBM of the fullest rank, then returns tables and shards to where `reference` (may be null)
// has them unless that raises the HBM again. Cost: O(shards x ranks) per shard or table moved.
// Ends early if the budget is interrupted, or after `most` work; every step leaves an allocation
// as good as before. Work counts updates of a rank or a shard; returns what was done.
// Precondition: the allocation is complete, within the memory, and breaks no rule.
std::uint64_t break_ties(AllocationState& state, const Allocation* reference, std::uint64_t most,
                         const Budget& budget = {});

}  // namespace shardwright::embedding
