// Several processes plan one problem, each with its own seed.
#pragma once

#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Process p plans with seed + p. Processes exchange nothing during the search. At the end every
// process has the best plan of all (the first process's among equal plans), and the bound and proof
// of its own search. Compat mode has no seed, so every process makes TorchRec's plan. Cost: two
// all-gathers, of a digest and of a plan. If the exchange fails in a process, it answers with its
// own plan. If one process leaves, all processes answer with their own plans. Precondition:
// `options.exchange` is not null. Errors: as plan_embedding(); kInvalidInput if another process
// plans something else; kUnsupported for a problem that leaves the layout open.
Result<EmbeddingPlanResult> plan_portfolio(
    std::shared_ptr<const embedding::Problem> problem, const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space);

}  // namespace shardwright
