// Answers that are no plans, in JSON and as CSV.
#pragma once

#include "runtime/embedding/explanation_answer.h"
#include "runtime/embedding/plan_diff.h"
#include "runtime/embedding/problem_diff.h"
#include "runtime/embedding/sweep_points.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// Sizes are in bytes, times in milliseconds, and ratings in milliseconds (bytes for the storage
// model). Places are JSON pointers into the problem file.
void describe(JsonMembers& members, PlanDiff& diff);
void describe(JsonMembers& members, ProblemDiff& diff);
void describe(JsonMembers& members, ExplanationAnswer& explanation);
void describe(JsonMembers& members, SweepAnswer& sweep);

// What a file of each kind may be.
JsonShape diff_shape();
JsonShape explanation_shape();
JsonShape sweep_shape();

// Writes a header, then one row per point. Memory is bytes per rank, times milliseconds, samples of
// all ranks, prices in the currency given. Cells that do not apply are empty.
void write_sweep_csv(const SweepAnswer& sweep, const TextSink& sink);

}  // namespace shardwright
