// Writes statistics of a plan as JSON.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/result/plan_stats.h"
#include "runtime/io/json/json_writer.h"

namespace shardwright {

// Writes the value of `stats` in a plan file. O(ranks).
void write_stats(const embedding::Problem& problem, const PlanStats& stats, JsonWriter& json);

}  // namespace shardwright
