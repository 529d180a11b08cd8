// First allocations: choices by priced cost, then the largest shards first.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/model/rank_state/energy_placer.h"

namespace shardwright::embedding {

// Chooses for every table what costs least with these prices of memory times `price_factor`, among
// the choices that have no shard above `shard_limit` (where there is none, the choice whose largest
// shard is least). Precondition: every table has a choice.
std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const MemoryPrices& prices, double price_factor);

// Places the choices of all tables in the order all ranks, hosts, single shards, dearest first.
// Memory may be exceeded.
Allocation construct(AllocationState& loads, RandomGenerator& draws,
                     std::vector<std::uint32_t> choices);

}  // namespace shardwright::embedding
