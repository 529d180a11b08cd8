// The facts of a problem about how TorchRec estimates time and reserves memory.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/identity/fact_writer.h"

namespace shardwright {

void write_perf_estimator(const embedding::PerfEstimatorSpec& estimator, FactWriter& out);
// What takes memory before tables do. Only what the reservation reads counts.
void write_reservation(const embedding::ProblemSpec& spec, FactWriter& out);

}  // namespace shardwright
