// The public entry: one function per planning domain.
#pragma once

#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/result/plan_result.h"

namespace shardwright {

namespace embedding {
class CostModel;
}

// Plans `problem`. Where `search_space` is given, enumeration and estimation are skipped and its
// options and costs are used as they are. "No plan" is a result with `failure` set; "stopped by a
// budget" is a result with `stopped_by` set.
// Errors: kInvalidInput for requests that cannot be planned at all; kUnsupported, with the place in
// the problem file, where compat mode is asked for placement rules or measured times of ranks, and
// where best mode is asked for a rating model of the caller's.
// Thread safety: may be called from any number of threads at once.
Result<EmbeddingPlanResult> plan_embedding(
    std::shared_ptr<const embedding::Problem> problem, const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

// The options of `problem` with their costs, as `cost_model` (null = TorchRec's) has them. Errors:
// kInvalidInput where a constraint leaves a table without options or a cost exceeds 2^62 bytes.
Result<std::shared_ptr<const embedding::SearchSpace>> enumerate_embedding(
    std::shared_ptr<const embedding::Problem> problem,
    const embedding::CostModel* cost_model = nullptr);

// The topology that is left for tables after the problem's reservation. Errors: kInfeasible where
// it leaves a rank less than nothing.
Result<embedding::Reservation> reserve_embedding(const embedding::Problem& problem);

}  // namespace shardwright
