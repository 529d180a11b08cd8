// The aggregate Lagrangian bound: what all tables need against what all ranks have together.
#pragma once

#include <vector>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "core/embedding/bound/check_bound.h"
#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// A bound is lowered by this part before it is claimed: the check raises it by kRatingSlack, and
// rounds every sum to the safe side, which costs less than the rest.
inline constexpr double kBoundRounding = 3 * kRatingSlack;

struct AggregateBound {
  double bound = 0;  // no plan rates below it; infinite if a table has no possible choice
  std::vector<CapacityMultipliers> multipliers;  // by class; they prove the bound
  // What the linear program takes of every choice, if all ranks are one. It mixes choices of a few
  // tables at most. Empty if the program was lost numerically.
  std::vector<double> shares;
};

// The largest Lagrangian bound over all multipliers. Only choices that are possible below `target`
// count: if the bound exceeds `target`, no plan rates below `target`; otherwise it holds only with
// min(bound, target).
// Source: J. E. Kelley, "The Cutting-Plane Method for Solving Convex Programs" (1960).
// O(rounds x choices) time.
AggregateBound aggregate_bound(const BoundRows& rows, double target, const Domain& domain,
                               const AggregateParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
