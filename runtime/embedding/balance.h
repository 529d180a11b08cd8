// Lowers the memory of the fullest rank of a plan.
#pragma once

#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Replaces the plan of `result` by one whose fullest rank holds less, if its rating is at most
// (1 + slack) x that of the plan: plans again with ever less memory per rank, by bisection, each
// time with a twentieth of the default work. Memory is HBM, or DDR of ranks without HBM. The bound
// of the result stays. Changes nothing without a plan, and where memory differs from rank to rank.
// Errors: kInvalidInput at "memory_slack" unless 0 <= slack < 1.
Status balance_memory(double slack, const PlanOptions& options, EmbeddingPlanResult& result);

}  // namespace shardwright
