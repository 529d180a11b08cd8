// Answers other than plans, as JSON and CSV.
#pragma once

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/audit.h"
#include "runtime/embedding/explanation_answer.h"
#include "runtime/embedding/plan_diff.h"
#include "runtime/embedding/problem_diff.h"
#include "runtime/embedding/sweep_points.h"
#include "runtime/io/json/json_members.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

// Sizes are in bytes and times in ms. Ratings are in ms, or in bytes for the storage model. Places
// are JSON pointers into the problem file.
void describe(JsonMembers& members, PlanDiff& diff);
void describe(JsonMembers& members, ProblemDiff& diff);
void describe(JsonMembers& members, ExplanationAnswer& explanation);
void describe(JsonMembers& members, SweepAnswer& sweep);
void describe(JsonMembers& members, AuditAnswer& audit);
void describe(JsonMembers& members, FailedAnswer& answer);

// Return the shape of a whole file.
JsonShape diff_shape();
JsonShape explanation_shape();
JsonShape sweep_shape();
JsonShape audit_shape();

// Writes a header and one row per point. Memory is in bytes per rank, times in ms, samples are of
// all ranks, and prices in the user's currency. A cell that does not apply is empty.
void write_sweep_csv(const SweepAnswer& sweep, const TextSink& sink);

}  // namespace shardwright
