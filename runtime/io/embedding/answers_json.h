// Writes differences between two plans or two problems as JSON.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain.h"
#include "runtime/embedding/plan_diff.h"
#include "runtime/embedding/problem_diff.h"
#include "runtime/embedding/sweep.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

void write_diff(const PlanDiff& diff, const TextSink& sink);
void write_diff(const ProblemDiff& diff, const TextSink& sink);

// Writes {"feasible": true, "tables": [...]} or {"feasible": false, "infeasible": {...},
// "remedies": [...], "in_vain": [...]}. Sizes are in bytes, times in milliseconds, and ratings in
// milliseconds (bytes for the storage model). Places are JSON pointers into the problem file.
void write_explanation(const Explanation& explanation, const TextSink& sink);

// Writes {"points": [...], "smallest_ranks": [...], "best_by_ranks": [...]}, without the plans.
void write_sweep(const embedding::ProblemSpec& problem, const Sweep& sweep, const TextSink& sink);

// Writes a header, then one row per point. Memory is bytes per rank, times milliseconds, samples of
// all ranks, prices in the currency given. Cells that do not apply are empty.
void write_sweep_csv(const embedding::ProblemSpec& problem, const Sweep& sweep,
                     const TextSink& sink);

}  // namespace shardwright
