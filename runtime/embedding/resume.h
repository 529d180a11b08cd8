// Goes on from the best plan that an interrupted search left.
#pragma once

#include <memory>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

// Goes on with best mode from the plan of `checkpoint` and the bound that its certificate proves.
// Whatever ends the search, the answer's plan and bound are no worse. Limits and stop requests take
// effect only after the options are enumerated and the plan is evaluated. A certificate that the
// check of core refuses, or for which it takes too long, is dropped. If a stop leaves no time for
// the check, the answer has the certificate but no bound. `options.start` must be null. The
// checkpoint is the file of a call with PlanOptions::on_checkpoint, or any answer of best mode for
// the same problem. Errors: as plan_embedding(); kInvalidInput with the place in the checkpoint if
// it holds no plan, was made for another problem, or its plan is not one of the search space;
// kUnsupported for compat mode and for an open layout. Thread safety: may be called from any number
// of threads at once.
Result<EmbeddingPlanResult> resume_embedding(
    std::shared_ptr<const embedding::Problem> problem, const PlanDocument& checkpoint,
    const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

}  // namespace shardwright
