// Explanations as JSON.
#pragma once

#include "runtime/embedding/explain/explain.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// {"feasible": true, "tables": [...]} or {"feasible": false, "infeasible": {...}, "remedies":
// [...], "in_vain": [...]}. Sizes are bytes, times milliseconds; ratings bytes for the storage
// model. Places are JSON pointers in the problem file.
void write_explanation(const Explanation& explanation, const TextSink& sink);

}  // namespace shardwright
