// The stage that proves that there is no plan.
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

// Before best mode searches, if compat mode found nothing: looks for a certificate that no plan
// exists with a part of the budget, and tries all plans of a very small problem. Returns true if
// that proves it; the result then says so. Otherwise `start` is the plan that was found, if one
// was. Precondition: there is no valid plan.
bool prove_absence_first(Planning& planning, const embedding::OptionPool& pool,
                         std::optional<embedding::Plan>& start);

// Best mode found nothing. `none_exists`: it has tried everything.
void take_absence(Planning& planning, const embedding::OptionPool& pool, bool none_exists);

// Takes in PlanOptions::start and PlanOptions::proved of best mode before anything is searched.
// Returns the plan as an answer, which is also the first checkpoint: evaluated, with the bound that
// the check of core accepts. A certificate that a stop leaves no time to check stays in the answer
// without a bound. `planning.options` keeps none that was not accepted. Returns nothing if there is
// no plan, or if it breaks a rule. After a stop the check has a tenth of a second. Precondition:
// memory is reserved, and the options are enumerated.
std::optional<EmbeddingPlanResult> take_start(Planning& planning);

// Makes the result no worse than `start`, whatever ended the search.
void keep_start(EmbeddingPlanResult start, EmbeddingPlanResult& result);

// Compat mode decides as TorchRec does, which knows neither placement rules nor the speed of single
// ranks. Errors: kUnsupported with the place in the problem file.
Status check_compat_mode(const embedding::Problem& problem);

// Compat mode uses the load factor that the constraint names. Errors: kUnsupported with the place
// of a list of load factors.
Status check_listed_load_factors(const embedding::Problem& problem);

// Whether TorchRec's proposers take these options. Errors: kInvalidInput with the place.
Status check_proposers(const embedding::SearchSpace& space);

// Leaves the plan that TorchRec would choose, or why there is none, and the trace if it was asked
// for. Scale-up adds options to `pool`. `budget` is the whole one, or best mode's share of it,
// in which a proposal counts as other work. With `work_per_proposer`, the next proposer begins
// after so much work if there is a plan by then.
void search_compat(Planning& planning, embedding::OptionPool& pool, Budget& budget,
                   const embedding::ProposalWork& work = {},
                   std::optional<std::uint64_t> work_per_proposer = {});

// Runs compat mode within a part of the budget, unless the problem asks for what it cannot honour,
// and improves on its plan. Leaves the best plan, its bound with the certificate, and the steps of
// improvement, or why there is no plan. Errors: kInvalidInput if another process plans something
// else.
Status search_best(Planning& planning, embedding::OptionPool& pool);

}  // namespace shardwright
