// The public entry for planning embedding tables.
#pragma once

#include <memory>

#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/options.h"
#include "runtime/embedding/plan_result.h"

namespace shardwright {

namespace embedding {
class CostModel;
}

// Chooses a sharding option and ranks for every table of `problem`, in stages: subtract the
// reservation, enumerate options with costs, search, evaluate and verify the plan, gather
// certificate and statistics. If `search_space` is given, its options and costs replace
// enumeration.
//
// If the problem leaves the layout of its machine open, best mode chooses it (plan_layouts.h), and
// `search_space` must be null.
//
// A plan in the result has been evaluated by core/embedding/evaluate.h. In best mode the plan
// breaks no rule, and the check of core has accepted the certificate of its bound. In compat mode
// the plan is TorchRec's even if it breaks a rule; `evaluation.violations` lists such rules. If
// there is no plan, `failure` is set. If a budget ended the search, `stopped_by` is set and the
// result has the best plan so far, if any. The same problem, options, seed and work limit give the
// same result with any number of threads, except for `threads` and `timing`. A time limit or a stop
// request voids this. Errors: kInvalidInput for a request that cannot be planned. kUnsupported,
// with the place in the problem file, for placement rules, measured times of ranks or lists of load
// factors in compat mode; also for a custom rating model in best mode.
// Thread safety: may be called from any number of threads at once.
Result<EmbeddingPlanResult> plan_embedding(
    std::shared_ptr<const embedding::Problem> problem, const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

// Returns the options of `problem` that TorchRec enumerates, with the costs of `cost_model` (null =
// TorchRec's). Errors: kInvalidInput if a constraint leaves a table without options or a cost
// exceeds 2^62 bytes.
Result<std::shared_ptr<const embedding::SearchSpace>> enumerate_embedding(
    std::shared_ptr<const embedding::Problem> problem,
    const embedding::CostModel* cost_model = nullptr);

// Returns the options among which best mode chooses: `declared`, and cached options with other
// cache sizes where the problem leaves the size open (core/embedding/load_factors.h). Errors: as
// enumerate_embedding().
Result<std::shared_ptr<const embedding::SearchSpace>> best_mode_options(
    std::shared_ptr<const embedding::SearchSpace> declared,
    const embedding::CostModel* cost_model = nullptr);

// Returns the topology after the problem's reservation. Errors: kInfeasible if the reservation
// takes more memory than a rank has.
Result<embedding::Reservation> reserve_embedding(const embedding::Problem& problem);

}  // namespace shardwright
