// Goes on from the best plan that an interrupted search left.
#pragma once

#include <memory>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

// Plans with best mode from the plan of `checkpoint`, from the bound that its certificate proves,
// neither of which is worse in the answer, whatever ends the search. The options are enumerated and
// the plan is evaluated before a limit or a stop is heard. A certificate that the check of core
// refuses, or for which it takes too long, is dropped; one that a stop leaves no time to check is
// in the answer without a bound. `options.start` must be null. The checkpoint is the file of a call
// with PlanOptions::on_checkpoint, or any answer of best mode for the same problem. Errors: as
// plan_embedding(); kInvalidInput with the place in the checkpoint if it holds no plan, was made
// for another problem, or its plan is not one of the search space; kUnsupported for compat mode and
// for an open layout. Thread safety: may be called from any number of threads at once.
Result<EmbeddingPlanResult> resume_embedding(
    std::shared_ptr<const embedding::Problem> problem, const PlanDocument& checkpoint,
    const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

}  // namespace shardwright
