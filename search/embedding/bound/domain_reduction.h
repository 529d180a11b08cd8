// Removes choices of a node that no plan below a target can take.
#pragma once

#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"

namespace shardwright::embedding {

// Several sets of multipliers, each by rank class.
using MultiplierList = std::vector<std::vector<CapacityMultipliers>>;

// The result of the reduction of a node's domain.
struct DomainReduction {
  // No plan of the node rates below the target: the Lagrangian bound at `multipliers` exceeds the
  // target, or a table has no choice left.
  bool excluded = false;
  std::vector<CapacityMultipliers> multipliers;
  double bound = 0;       // the aggregate bound of the reduced domain
  MultiplierList fixing;  // with which fix_choices() repeats the reduction
  FractionalPlan plan;    // of a node that is not excluded: shares only; may be empty
};

// Removes choices from `domain` in two ways, until neither removes any more.
// - Reduced costs, at the multipliers of the aggregate bound: no plan below the target has a choice
//   that exceeds its table's cheapest choice by more than the target exceeds the bound.
// - Common use: a table all of whose choices have a shard on every rank uses every rank in every
//   plan. A choice that does not fit beside the smallest shards of these tables is in no plan.
// Source: M. W. P. Savelsbergh, "Preprocessing and Probing Techniques for Mixed Integer Programming
// Problems" (1994).
DomainReduction reduce_domain(const BoundRows& rows, double target, Domain& domain,
                              const AggregateParameters& parameters, Budget& budget);

// Repeats a reduction: reduced-cost fixing with each set of `fixing`, common use before and after.
void fix_choices(const BoundRows& rows, double target, const MultiplierList& fixing, Domain& domain,
                 Budget& budget);

}  // namespace shardwright::embedding
