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

// Chooses a sharding option and ranks for every table of `problem`. The stages, in order: take the
// reservation off the memory, enumerate the options with their costs, search by mode, evaluate and
// verify what was found, gather certificate and statistics. If `search_space` is given, nothing is
// enumerated and its options and costs are used as they are.
//
// If the problem leaves the layout of its machine open, best mode chooses it (plan_layouts.h), and
// `search_space` must be null.
//
// A plan in the result has been evaluated by the verifier (core/embedding/evaluate.h). In best mode
// it breaks no rule, and the certificate of its bound has passed the checker. In compat mode it is
// TorchRec's plan even if it breaks a rule; `evaluation.violations` lists the rules. "No plan" is a
// result with `failure` set. "Stopped by a budget" is a result with `stopped_by` set and the best
// plan so far, if there is one. The same problem, options, seed and work limit give the same result
// for any number of threads, except for `threads` and `timing`. With a time limit or a stop request
// this does not hold. Errors: kInvalidInput for requests that cannot be planned at all;
// kUnsupported, with the place in the problem file, if compat mode is asked for placement rules or
// measured times of ranks, or best mode for a rating model of the caller's.
// Thread safety: may be called from any number of threads at once.
Result<EmbeddingPlanResult> plan_embedding(
    std::shared_ptr<const embedding::Problem> problem, const PlanOptions& options,
    std::shared_ptr<const embedding::SearchSpace> search_space = nullptr);

// The options of `problem` that TorchRec enumerates, with the costs that `cost_model` gives them
// (null = TorchRec's). Errors: kInvalidInput if a constraint leaves a table without options or a
// cost exceeds 2^62 bytes.
Result<std::shared_ptr<const embedding::SearchSpace>> enumerate_embedding(
    std::shared_ptr<const embedding::Problem> problem,
    const embedding::CostModel* cost_model = nullptr);

// The options among which best mode chooses: `declared`, and caches of other sizes where the
// problem leaves the size to it (core/embedding/load_factors.h). Errors: as enumerate_embedding().
Result<std::shared_ptr<const embedding::SearchSpace>> best_mode_options(
    std::shared_ptr<const embedding::SearchSpace> declared,
    const embedding::CostModel* cost_model = nullptr);

// The topology that is left for tables after the problem's reservation. Errors: kInfeasible if the
// reservation takes more than a rank has.
Result<embedding::Reservation> reserve_embedding(const embedding::Problem& problem);

}  // namespace shardwright
