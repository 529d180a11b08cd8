// Allocations built from nothing: choices by priced cost, then the largest shards first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/parameters/construct_parameters.h"
#include "search/embedding/model/rank_state/energy_placer.h"

namespace shardwright::embedding {

// Chooses for every table what costs least at `price_factor` times these prices of memory, among
// the choices without a shard above `shard_limit`. If a table has no such choice, it takes one of
// those whose largest shard is smallest. Precondition: every table has a choice.
std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const MemoryPrices& prices, double price_factor);

// Places the choices of all tables: bonded units first, then choices on all ranks, on hosts, and
// single shards, each kind in descending order of cost. Memory may be exceeded. Adds to `work`.
// Returns nothing if it was stopped.
std::optional<Allocation> construct(AllocationState& state, RandomGenerator& random,
                                    std::vector<std::uint32_t> choices,
                                    const ConstructParameters& parameters, std::uint64_t& work,
                                    StopCheck& stopped);

}  // namespace shardwright::embedding
