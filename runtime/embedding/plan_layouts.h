// Best mode where the layout of the machine is to be chosen, too.
#pragma once

#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Plans for every layout in problem->topology().layouts() and answers with the plan of the best
// rating; `other_layouts` has the answers for the others. Its bound, the least bound of any layout,
// holds for all layouts.
//
// All layouts share the work and the time of one search: a quarter is divided equally among all,
// and the rest among the layouts that may still have a better plan than the best one. A layout
// whose bound has reached the best rating gets no more work.
// Errors: as plan_embedding(); kInvalidInput in compat mode, which chooses no layout.
Result<EmbeddingPlanResult> plan_layouts(const std::shared_ptr<const embedding::Problem>& problem,
                                         const PlanOptions& options);

}  // namespace shardwright
