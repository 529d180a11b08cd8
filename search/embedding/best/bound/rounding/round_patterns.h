// A start for the search from a fractional mix of patterns.
#pragma once

#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/model/table_groups.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// Every table has the choice that the plan takes most of, and its ranks if they could be found for
// all its shards: a rank gets one of the plan's patterns (PatternDive). Tables without ranks are to
// be placed beside the others. None has ranks if the patterns say nothing about single ones,
// because a class has only some ranks of a host that a choice fills, or if the budget was
// interrupted. Precondition: the plan is not empty.
Allocation round_patterns(const BoundRows& rows, const Domain& domain,
                          const std::vector<EqualTables>& groups, const FractionalPlan& plan,
                          double target, const BoundParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
