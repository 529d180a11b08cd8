// Allocations built from nothing: choices by priced cost, then the largest shards first.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/parameters/construct_parameters.h"
#include "search/embedding/model/rank_state/energy_placer.h"

namespace shardwright::embedding {

// What a choice costs before it is placed. Thread safety: a value.
struct ChoiceCost {
  MemoryPrices memory;
  double memory_factor = 1;  // on the prices of memory
  // On the load of shards on single ranks. Few large shards leave gaps on every rank, which shards
  // on all ranks do not.
  double single_factor = 1;
};

// Chooses for every table what costs least, among the choices without a shard above `shard_limit`.
// If a table has no such choice, it takes one of those whose largest shard is smallest.
// Precondition: every table has a choice.
std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const ChoiceCost& cost);

// Places the choices of all tables: bonded units first, then choices on all ranks, on hosts, and
// single shards, each kind in descending order of cost. Tables that have ranks keep them, unless
// they are bonded. Memory may be exceeded. Adds to `work`. Returns nothing if it was stopped.
std::optional<Allocation> construct(AllocationState& state, RandomGenerator& random,
                                    Allocation made, const ConstructParameters& parameters,
                                    std::uint64_t& work, StopCheck& stopped);

}  // namespace shardwright::embedding
