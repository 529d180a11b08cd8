// Writes differences between two plans or two problems as JSON.
#pragma once

#include "runtime/embedding/identity/plan_diff.h"
#include "runtime/embedding/identity/problem_diff.h"
#include "runtime/io/text_sink.h"

namespace shardwright {

void write_diff(const PlanDiff& diff, const TextSink& sink);
void write_diff(const ProblemDiff& diff, const TextSink& sink);

}  // namespace shardwright
