// Why a problem has no plan: the least that does not fit, with its bytes.
#pragma once

#include "runtime/embedding/explain/explain.h"
#include "runtime/embedding/explain/fit_oracle.h"

namespace shardwright {

// `present` is what can be proved of the problem as it is, `failure` why planning it failed. Sets
// everything but the remedies.
Infeasibility find_infeasible_reason(const Fit& present, const PlanFailure& failure,
                                     FitOracle& oracle);

}  // namespace shardwright
