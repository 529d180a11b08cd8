// The stage of best mode: compat mode's plan, better ones, and a proven bound.
#pragma once

#include "core/status.h"
#include "runtime/embedding/planning/planning.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright {

// Runs compat mode within a part of the budget, unless the problem asks for what it cannot honour,
// and improves on its plan. Leaves the best plan, its bound with the certificate, and the steps of
// improvement, or why there is no plan. Errors: kInvalidInput if another process plans something
// else.
Status search_best(Planning& planning, embedding::OptionPool& pool);

}  // namespace shardwright
