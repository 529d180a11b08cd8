// Differences between plans and between problems, as JSON.
#pragma once

#include "runtime/io/text_sink.h"
#include "runtime/plan_diff.h"
#include "runtime/problem_diff.h"

namespace shardwright {

void write_diff(const PlanDiff& diff, const TextSink& sink);
void write_diff(const ProblemDiff& diff, const TextSink& sink);

}  // namespace shardwright
