// Statistics of a plan as JSON.
#pragma once

#include "core/embedding/problem.h"
#include "runtime/io/json_writer.h"
#include "runtime/plan_stats.h"

namespace shardwright {

// Writes the object that stands under `stats` in a plan file. O(ranks).
void write_stats(const embedding::Problem& problem, const PlanStats& stats, JsonWriter& json);

}  // namespace shardwright
