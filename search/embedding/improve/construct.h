// First allocations: choices by priced cost, then the largest shards first.
#pragma once

#include "search/embedding/improve/placer.h"

namespace shardwright::embedding {

// Chooses for every table what costs least with the context's memory prices times `price_factor`,
// among the choices that have no shard above `shard_limit` (where there is none, the choice whose
// largest shard is least), and places it in the order all ranks, hosts, single shards, dearest
// first. Memory may be exceeded. Precondition: every table has a choice.
Allocation construct(RankLoads& loads, RandomDraws& draws, double shard_limit, double price_factor);

}  // namespace shardwright::embedding
