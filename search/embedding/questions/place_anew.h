// Places one table while all others stay where they are.
#pragma once

#include <optional>
#include <span>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/model/rank_state/plan_loads.h"

namespace shardwright::embedding {

// Chooses an option of the table and ranks for its shards. Least memory beyond capacity comes
// first, then the time of the slowest rank. Places shard by shard on the best rank or host that the
// table's own rules allow; ignores group rules. Adds the choice to `loads`. Returns nothing if no
// option can be placed. Cost: O(options x shards x ranks).
std::optional<Assignment> place_anew(const Problem& problem, const Topology& available,
                                     std::span<const ShardingOption* const> options,
                                     PlanLoads& loads);

}  // namespace shardwright::embedding
