// The plan and the bound that a search goes on from.
#pragma once

#include <optional>

#include "runtime/embedding/planning/planning.h"

namespace shardwright {

// Takes in PlanOptions::start and PlanOptions::proved of best mode before anything is searched.
// Returns the plan as an answer, which is also the first checkpoint: evaluated, with the bound that
// the check of core accepts. A certificate that a stop leaves no time to check stays in the answer
// without a bound. `planning.options` keeps none that was not accepted. Returns nothing if there is
// no plan, or if it breaks a rule. After a stop the check has a tenth of a second. Precondition:
// memory is reserved, and the options are enumerated.
std::optional<EmbeddingPlanResult> take_start(Planning& planning);

// Makes the result no worse than `start`, whatever ended the search.
void keep_start(EmbeddingPlanResult start, EmbeddingPlanResult& result);

}  // namespace shardwright
