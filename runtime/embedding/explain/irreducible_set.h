// Tables that do not fit together, none of which can be spared.
#pragma once

#include <vector>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/explain/fit_oracle.h"

namespace shardwright {

struct IrreducibleSet {
  std::vector<embedding::TableId> tables;  // ascending
  // Without any one of the tables a plan for the others was found and verified. Otherwise the
  // search for such a set gave up.
  bool tested = false;
};

// Narrows `tables`, which do not fit a machine of their own, as far as it can: the largest first,
// as few of them as do not fit, then without those that can be left out. `space` has the options of
// all tables.
// Cost: a planning per table of the set and O(log tables) more; sets of many tables are tested by
// exchanging a table in a plan.
IrreducibleSet find_irreducible_set(const embedding::Problem& problem,
                                    const embedding::SearchSpace& space,
                                    std::vector<embedding::TableId> tables, FitOracle& oracle);

}  // namespace shardwright
