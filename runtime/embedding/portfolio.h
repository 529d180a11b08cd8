// One problem, planned by several processes with seeds of their own.
#pragma once

#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

// Process p plans with seed + p; nothing is exchanged while it searches. At the end every process
// has the best plan of all (of equal plans, the first process's), and the bound and proof of its
// own search. Compat mode has no seed: every process makes TorchRec's plan. Cost: two all-gathers,
// of a digest and of a plan. A process whose exchange fails answers with its own plan, and so do
// all if one leaves. Precondition: `options.exchange` is not null. Errors: as plan_embedding();
// kInvalidInput if another process plans something else; kUnsupported for an open layout.
Result<EmbeddingPlanResult> plan_portfolio(
    std::shared_ptr<const embedding::Problem> problem, const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space);

}  // namespace shardwright
