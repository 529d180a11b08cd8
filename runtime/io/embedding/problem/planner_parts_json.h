// The parts of the planner that a problem file may name: sharder, reservation, proposers,
// partitioner, estimators.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright::internal {

// Adds to `reader` the members `sharder`, `reservation`, `proposers`, `partitioner`, `perf_model`
// and the estimators, which fill `spec` when the reader takes them.
void read_planner_parts(ObjectReader& reader, embedding::ProblemSpec& spec);

}  // namespace shardwright::internal
