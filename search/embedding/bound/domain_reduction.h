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
  // True if no plan of the node rates below the target, because the Lagrangian bound at
  // `multipliers` exceeds the target, or a table has no choice left.
  bool excluded = false;
  std::vector<CapacityMultipliers> multipliers;
  double bound = 0;       // the aggregate bound of the reduced domain
  MultiplierList fixing;  // input of fix_choices(), which repeats the reduction
  FractionalPlan plan;    // shares only; empty if excluded or not solved
};

// Removes choices from `domain` in two ways, until neither way removes any more:
// - Reduced costs. At the multipliers of the aggregate bound, every choice has a cost. A choice is
//   removed if its cost exceeds that of its table's cheapest choice by more than target - bound.
// - Common use. If all choices of a table have a shard on every rank, every rank holds at least the
//   smallest of these shards. A choice that does not fit beside such shards is removed.
// Source: M. W. P. Savelsbergh, "Preprocessing and Probing Techniques for Mixed Integer Programming
// Problems" (1994).
DomainReduction reduce_domain(const BoundRows& rows, double target, Domain& domain,
                              const AggregateParameters& parameters, Budget& budget);

// Repeats a reduction: common use, then for each set of `fixing` reduced costs and common use.
void fix_choices(const BoundRows& rows, double target, const MultiplierList& fixing, Domain& domain,
                 Budget& budget);

}  // namespace shardwright::embedding
