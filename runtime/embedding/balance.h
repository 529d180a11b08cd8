// Lowers the memory of the fullest rank of a plan.
#pragma once

#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Replaces the plan of `result` by a plan whose fullest rank holds less and whose rating is at most
// (1 + slack) x the plan's. Finds it by bisection of the memory per rank (HBM, or DDR without HBM);
// each step plans with a twentieth of the default work. The result keeps its bound, and
// `before_balance` tells what changed. Changes nothing if there is no plan or if ranks differ in
// memory. Errors: kInvalidInput at "memory_slack" unless 0 <= slack < 1.
Status balance_memory(double slack, const PlanOptions& options, EmbeddingPlanResult& result);

}  // namespace shardwright
