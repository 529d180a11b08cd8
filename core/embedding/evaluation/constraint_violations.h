// Checks a plan against the user's placement constraints.
#pragma once

#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// Returns one sentence per violated constraint, which names the table, the shard and the rank.
// Reads the constraints as the user wrote them, not the compiled PlacementRules of the search.
// Skips assignments of unknown tables, with a wrong number of ranks, or with ranks that do not
// exist. Cost: O(tables), and O(shards log shards) for the tables that constraints name.
std::vector<std::string> constraint_violations(const Problem& problem, const Plan& plan);

}  // namespace shardwright::embedding
