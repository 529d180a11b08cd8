// Reads the planner components that a problem file may configure: sharder, reservation, proposers,
// partitioner, estimators.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright::internal {

// Reads the members `sharder`, `reservation`, `proposers`, `partitioner`, `perf_model` and the
// estimators into `spec`. `reader.finish()` reports their errors.
void read_planner_parts(ObjectReader& reader, embedding::ProblemSpec& spec);

}  // namespace shardwright::internal
