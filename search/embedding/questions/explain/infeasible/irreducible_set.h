// Narrows tables that do not fit together to a set that needs every one of its tables.
#pragma once

#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/explain/infeasible/fit_oracle.h"

namespace shardwright::embedding {

struct IrreducibleSet {
  std::vector<TableId> tables;  // ascending
  // A plan without any one of the tables was found and verified. Otherwise the search gave up
  // before it had tested every table.
  bool tested = false;
};

// Narrows `tables`, which do not fit a machine of their own: takes the fewest of the largest tables
// that do not fit, then leaves out each one that is not needed. `space` has the options of all
// tables of `problem`. Cost: a planning per table of the set plus O(log tables) of them; large sets
// are tested by exchanging one table in a plan that is known.
IrreducibleSet find_irreducible_set(const Problem& problem, const SearchSpace& space,
                                    std::vector<TableId> tables, FitOracle& oracle);

}  // namespace shardwright::embedding
