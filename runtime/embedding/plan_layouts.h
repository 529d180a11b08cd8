// Best mode for a problem that leaves the layout of its machine open.
#pragma once

#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Plans for every layout in problem->topology().layouts() and returns the plan with the best
// rating. `other_layouts` has the answers for the other layouts. The bound is the least bound of
// all layouts and holds for all of them.
Result<EmbeddingPlanResult> plan_layouts(const std::shared_ptr<const embedding::Problem>& problem,
                                         const PlanOptions& options);

}  // namespace shardwright
