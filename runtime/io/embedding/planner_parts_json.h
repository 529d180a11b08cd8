// The members of a problem that configure TorchRec's planner.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/io/json/json_members.h"

namespace shardwright {

// Describes `sharder`, `reservation`, `proposers`, `partitioner`, `perf_model` and the estimators.
void describe_planner_parts(JsonMembers& members, embedding::ProblemSpec& spec);

}  // namespace shardwright
