// Writes the results of a sweep over topologies as JSON.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/sweep/sweep.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// Writes {"points": [...], "smallest_ranks": [...], "best_by_ranks": [...]}, without the plans.
void write_sweep(const embedding::ProblemSpec& problem, const Sweep& sweep, const TextSink& sink);

}  // namespace shardwright
