// Searches by labels below cutoffs that rise.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/operators/solve/exact/exact_search.h"
#include "search/operators/solve/exact/label_search.h"
#include "search/operators/solve/parameters/exact_parameters.h"

namespace shardwright::operators {

// The sum of the same costs in another order differs by less than this part.
inline constexpr double kCostRounding = 1e-11;

// Finds the cheapest choice below the cutoff that is within the limits of the time points with
// prices; `choice` stays empty if there is none. Searches below limits that rise in steps from the
// bound to the cutoff, the first by `step`, and raises the bound of the result with them. If the
// lists become too long, a beam goes on in search of any choice, and this returns false.
bool search_in_steps(const CostInstance& instance, LabelSearch& labels,
                     const LabelParameters& parameters, double bound, double step, double cutoff,
                     Budget& budget, ExactResult& result, std::vector<std::uint32_t>& choice);

}  // namespace shardwright::operators
