// The user's placement constraints held against a plan.
#pragma once

#include <string>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"

namespace shardwright::embedding {

// One sentence per broken constraint, naming table, shard and rank. Reads the constraints as the
// user gave them, not PlacementRules. Entries whose ranks do not make sense are left out.
// Cost: O(tables), and O(shards log shards) of the tables that constraints name.
std::vector<std::string> broken_rules(const Problem& problem, const Plan& plan);

}  // namespace shardwright::embedding
