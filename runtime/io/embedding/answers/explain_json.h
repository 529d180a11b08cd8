// Writes explanations of plans as JSON.
#pragma once

#include "runtime/embedding/explain/explain.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// {"feasible": true, "tables": [...]} or {"feasible": false, "infeasible": {...}, "remedies":
// [...], "in_vain": [...]}. Sizes are in bytes, times in milliseconds, and ratings in milliseconds
// (bytes for the storage model). Places are JSON pointers into the problem file.
void write_explanation(const Explanation& explanation, const TextSink& sink);

}  // namespace shardwright
