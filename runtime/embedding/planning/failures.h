// Says why a planning call found no plan.
#pragma once

#include <optional>

#include "core/embedding/plan_failure.h"
#include "core/status.h"
#include "runtime/embedding/planning/planning.h"
#include "search/embedding/compat/embedding_search.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright {

// The reservation takes more than a rank has.
PlanFailure negative_reservation(const Error& error);

// The placement rules leave a table without an option.
PlanFailure no_option_left(const Error& error);

// Compat mode evaluated its proposals and kept none.
PlanFailure nothing_kept(const Planning& planning, const embedding::OptionPool& pool,
                         const embedding::EmbeddingSearch& search);

// The work limit ended compat mode; `so_far` is what nothing_kept() says of the proposals tried.
PlanFailure stopped_by_work_limit(PlanFailure so_far);

// Best mode found nothing either. `compat` is what was said so far, if anything. It stays the
// answer unless compat mode was stopped, or it says that no plan exists and there is no `proof` of
// that.
PlanFailure nothing_found(const Planning& planning, std::optional<PlanFailure> compat,
                          std::optional<AbsenceProof> proof);

}  // namespace shardwright
