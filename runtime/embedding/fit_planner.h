// A FitOracle that asks the planner whether a changed problem has a plan.
#pragma once

#include "runtime/embedding/options.h"
#include "search/embedding/questions/fit_oracle.h"

namespace shardwright {

// Returns an oracle that plans with `options` and stops at the first plan.
embedding::FitOracle make_fit_oracle(const PlanOptions& options);

}  // namespace shardwright
