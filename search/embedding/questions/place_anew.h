// Places one table beside others that stay where they are.
#pragma once

#include <optional>
#include <span>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/model/rank_state/plan_loads.h"

namespace shardwright {

// Chooses the option of the table and the ranks of its shards that leave the ranks least overfull,
// then the slowest rank fastest. Goes shard by shard, on the best rank or host that the rules of
// the table itself allow; group rules are not looked at. Adds the choice to `loads`. Returns
// nothing if no option can be placed. Cost: O(options x shards x ranks).
std::optional<embedding::Assignment> place_anew(
    const embedding::Problem& problem, const embedding::Topology& available,
    std::span<const embedding::ShardingOption* const> options, embedding::PlanLoads& loads);

}  // namespace shardwright
