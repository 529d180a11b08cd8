// The stages of planning that search: compat mode, best mode, and proofs that no plan exists.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/search_space.h"
#include "core/status.h"
#include "runtime/embedding/planning.h"
#include "search/budget.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright {

// Tries to prove that no plan exists, before best mode searches: looks for a certificate with a
// part of the budget, then tries all plans of a very small problem. Returns true if a proof was
// found; the result then says so. Otherwise sets `start` if a plan was found. Precondition: there
// is no valid plan.
bool prove_absence_first(Planning& planning, const embedding::OptionPool& pool,
                         std::optional<embedding::Plan>& start);

// Sets the failure if best mode found no plan. `none_exists`: best mode has tried all plans.
void take_absence(Planning& planning, const embedding::OptionPool& pool, bool none_exists);

// Takes in PlanOptions::start and PlanOptions::proved of best mode before anything is searched.
// Returns the plan as an answer, which is also the first checkpoint: evaluated, with the bound that
// the check of core accepts. A certificate that a stop leaves no time to check stays in the answer
// without a bound. A certificate that was not accepted is removed from `planning.options`. Returns
// nothing if there is no plan, or if it breaks a rule. After a stop the check has a tenth of a
// second. Precondition: memory is reserved, and the options are enumerated.
std::optional<EmbeddingPlanResult> take_start(Planning& planning);

// Makes the result no worse than `start`, whatever ended the search.
void keep_start(EmbeddingPlanResult start, EmbeddingPlanResult& result);

// Checks that the problem has neither placement rules nor speeds of single ranks, which TorchRec
// does not know. Errors: kUnsupported with the place in the problem file.
Status check_compat_mode(const embedding::Problem& problem);

// Checks that no constraint lists load factors: compat mode uses the one that a constraint names.
// Errors: kUnsupported with the place of a list.
Status check_listed_load_factors(const embedding::Problem& problem);

// Checks that TorchRec's proposers take these options. Errors: kInvalidInput with the place.
Status check_proposers(const embedding::SearchSpace& space);

// Runs compat mode. Leaves the plan that TorchRec would choose, or why there is none, and the trace
// if it was asked for. Scale-up adds options to `pool`. `budget` is the whole budget, or the part
// that best mode gives to compat mode; `work` is the work that a proposal counts as. With
// `work_per_proposer`, the next proposer begins after this much work if there is a plan by then.
void search_compat(Planning& planning, embedding::OptionPool& pool, Budget& budget,
                   const embedding::ProposalWork& work = {},
                   std::optional<std::uint64_t> work_per_proposer = {});

// Runs compat mode within a part of the budget, unless the problem asks for what it cannot honour,
// and improves on its plan. Leaves the best plan, its bound with the certificate, and the steps of
// improvement, or why there is no plan. Errors: kInvalidInput if another process plans something
// else.
Status search_best(Planning& planning, embedding::OptionPool& pool);

}  // namespace shardwright
