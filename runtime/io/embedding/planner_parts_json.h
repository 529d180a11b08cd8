// Reads the estimators of a problem.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/io/json/json_reader.h"

namespace shardwright::internal {

Status read_storage_estimator(JsonValue value, embedding::StorageEstimatorSpec& estimator);
Status read_perf_estimator(JsonValue value, embedding::PerfEstimatorSpec& estimator);

// Reads the members `sharder`, `reservation`, `proposers`, `partitioner`, `perf_model` and the
// estimators into `spec`. `reader.finish()` reports their errors.
void read_planner_parts(ObjectReader& reader, embedding::ProblemSpec& spec);

}  // namespace shardwright::internal
