// A place for one table beside others that stay where they are.
#pragma once

#include <optional>
#include <span>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/model/rank_state/plan_loads.h"

namespace shardwright {

// The option of the table, and ranks for its shards, that leave the ranks least overfull, then the
// slowest rank fastest; shard by shard on the best rank or host, as far as the rules that name the
// table alone allow. Adds it to the loads. Empty where no option can be placed.
// Cost: O(options x shards x ranks).
std::optional<embedding::Assignment> place_anew(
    const embedding::Problem& problem, const embedding::Topology& available,
    std::span<const embedding::ShardingOption* const> options, embedding::PlanLoads& loads);

}  // namespace shardwright
