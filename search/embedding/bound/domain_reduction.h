// Which choices of a node no plan below a target can take.
#pragma once

#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/aggregate_bound.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"

namespace shardwright::embedding {

// Each by rank class.
using MultiplierList = std::vector<std::vector<CapacityMultipliers>>;

// What the reduction of a domain says about its node.
struct DomainReduction {
  // No plan of the node rates below the target: at `multipliers` all tables need more than all
  // ranks have, or a table has no choice left.
  bool excluded = false;
  std::vector<CapacityMultipliers> multipliers;
  double bound = 0;       // of the aggregate relaxation of what is left
  MultiplierList fixing;  // that fix_choices() needs to do the same again
  FractionalPlan plan;    // of a node that is not excluded: shares only; may be empty
};

// Removes choices from `domain` in two ways, until neither removes any more.
// - Reduced costs: at the multipliers of the aggregate bound, all tables with their cheapest
//   choices leave some of what all ranks have. A choice that is dearer than the cheapest one of its
//   table by more than that is in no plan below the target.
// - Common use: a table all of whose choices have a shard on every rank takes room on every rank,
//   whatever the plan. What does not fit beside the shards of such tables is in no plan either.
// Source: M. W. P. Savelsbergh, "Preprocessing and Probing Techniques for Mixed Integer Programming
// Problems" (1994).
DomainReduction reduce_domain(const BoundRows& rows, double target, Domain& domain,
                              const AggregateParameters& parameters, Budget& budget);

// Removes choices with these multipliers, and by common use before and after each.
void fix_choices(const BoundRows& rows, double target, const MultiplierList& fixing, Domain& domain,
                 Budget& budget);

}  // namespace shardwright::embedding
