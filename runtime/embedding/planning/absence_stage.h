// The stage that proves that there is no plan.
#pragma once

#include <optional>

#include "core/embedding/plan.h"
#include "runtime/embedding/planning/planning.h"
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

}  // namespace shardwright
