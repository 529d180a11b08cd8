// Sweeps as JSON.
#pragma once

#include "core/embedding/problem.h"
#include "runtime/io/text_sink.h"
#include "runtime/sweep.h"

namespace shardwright {

// {"points": [...], "smallest_ranks": [...], "best_by_ranks": [...]}; plans are not written.
void write_sweep(const embedding::ProblemSpec& problem, const Sweep& sweep, const TextSink& sink);

}  // namespace shardwright
