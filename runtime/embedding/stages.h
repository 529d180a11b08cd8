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

// Tries to prove that no plan exists before best mode searches. First searches for a certificate
// with a part of the budget, then tries all plans if the problem is very small. Returns true if the
// proof succeeds, and sets the failure in the result. If a plan turns up instead, sets `start` and
// returns false. Precondition: the result has no valid plan.
bool prove_absence_first(Planning& planning, const embedding::OptionPool& pool,
                         std::optional<embedding::Plan>& start);

// Sets the failure after best mode found no plan. `none_exists`: best mode tried all plans.
void take_absence(Planning& planning, const embedding::OptionPool& pool, bool none_exists);

// Evaluates PlanOptions::start of best mode and checks PlanOptions::proved before any search.
// Returns them as an answer, which is also the first checkpoint; returns nullopt if there is no
// start or it breaks a rule. The bound is set if the check of core accepts the certificate.
// Otherwise the certificate is removed from `planning.options`. After a stop request the check has
// 0.1 s; a certificate that this leaves unchecked is in the answer, without a bound. Precondition:
// memory is reserved and the options are enumerated.
std::optional<EmbeddingPlanResult> take_start(Planning& planning);

// Takes plan and certificate of `start` into the result where the result's are worse.
void keep_start(EmbeddingPlanResult start, EmbeddingPlanResult& result);

// Checks that the problem has neither placement rules nor measured times of single ranks, which
// TorchRec does not support. Errors: kUnsupported with the place in the problem file.
Status check_compat_mode(const embedding::Problem& problem);

// Checks that no constraint has a list of load factors: compat mode supports only a single one.
// Errors: kUnsupported with the place of a list.
Status check_listed_load_factors(const embedding::Problem& problem);

// Checks that TorchRec's proposers accept these options. Errors: kInvalidInput with the place.
Status check_proposers(const embedding::SearchSpace& space);

// Runs compat mode. Leaves in the result TorchRec's plan or the reason why there is none, and the
// trace if requested. The scale-up proposer adds options to `pool`. `budget` is the whole budget,
// or the part of it that best mode gives to compat mode; `work` is the work of one proposal. With
// `work_per_proposer`, the next proposer begins after this much work if there is a plan.
void search_compat(Planning& planning, embedding::OptionPool& pool, Budget& budget,
                   const embedding::ProposalWork& work = {},
                   std::optional<std::uint64_t> work_per_proposer = {});

// Runs compat mode within a part of the budget and improves its plan; skips compat mode if the
// problem uses what it does not support. Leaves in the result the best plan, its bound with
// certificate, and the steps of improvement, or the reason why there is no plan.
Status search_best(Planning& planning, embedding::OptionPool& pool);

}  // namespace shardwright
