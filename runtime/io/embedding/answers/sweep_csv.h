// Writes the results of a sweep as comma-separated values (RFC 4180).
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/sweep/sweep.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// A head, then one row per point. Bytes per rank, milliseconds, samples of all ranks; prices in the
// currency that they were given in. What does not apply is empty.
void write_sweep_csv(const embedding::ProblemSpec& problem, const Sweep& sweep,
                     const TextSink& sink);

}  // namespace shardwright
