// Continues an interrupted search from its best plan.
#pragma once

#include <memory>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planner.h"

namespace shardwright {

// Continues best mode from the plan of `checkpoint` and the bound that its certificate proves. The
// plan and the bound of the answer are no worse, whatever ends the search. `checkpoint` is a file
// written in PlanOptions::on_checkpoint, or any answer of best mode for the same problem. Limits
// and stop requests take effect only after the options are enumerated and the plan is evaluated.
// The certificate is dropped if the check of core refuses it or takes too long. If a stop leaves no
// time for the check, the answer has the certificate but no bound. Precondition: `options.start` is
// null. Errors: as plan_embedding(); kInvalidInput with the place in the checkpoint if it holds no
// plan, was made for another problem, or has a plan outside the search space; kUnsupported for
// compat mode and for an open layout. Thread safety: may be called from any number of threads at
// once.
Result<EmbeddingPlanResult> resume_embedding(
    std::shared_ptr<const embedding::Problem> problem, const PlanDocument& checkpoint,
    const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

}  // namespace shardwright
