// The smallest single changes that make a problem feasible.
#pragma once

#include "core/embedding/search_space.h"
#include "runtime/embedding/explain/explain.h"
#include "runtime/embedding/explain/fit_oracle.h"

namespace shardwright {

// Fills in `remedies` and `in_vain`. Constraints are those of the tables that the infeasibility
// names: dropping another one leaves these where they are. `present` is the answer for the problem
// as it is.
void find_remedies(const Fit& present, FitOracle& oracle, Infeasibility& infeasibility);

}  // namespace shardwright
