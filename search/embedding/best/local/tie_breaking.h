// Among allocations of equal rating: less memory on the fullest rank, then fewer moved shards.
#pragma once

#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {

// Changes the allocation that `loads` hold by single tables and shards while no rank rises above
// its largest load: lowers the HBM of the fullest rank, then returns tables and shards to where
// `reference` (may be null) has them, unless that raises it again. Cost: O(shards x ranks) per
// shard or table moved. Precondition: the allocation is complete and within the memory.
void break_ties(AllocationState& loads, const Allocation* reference);

}  // namespace shardwright::embedding
