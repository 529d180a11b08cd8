// Places one table beside others that stay where they are.
#pragma once

#include <optional>
#include <span>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/model/rank_state/plan_loads.h"

namespace shardwright::embedding {

// Chooses the option of the table and the ranks of its shards that leave the ranks least overfull,
// then the slowest rank fastest. Goes shard by shard, on the best rank or host that the rules of
// the table itself allow; group rules are not looked at. Adds the choice to `loads`. Returns
// nothing if no option can be placed. Cost: O(options x shards x ranks).
std::optional<Assignment> place_anew(const Problem& problem, const Topology& available,
                                     std::span<const ShardingOption* const> options,
                                     PlanLoads& loads);

}  // namespace shardwright::embedding
