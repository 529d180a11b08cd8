// Finds the smallest single changes that make a problem feasible.
#pragma once

#include <span>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/explain/infeasible/fit_oracle.h"
#include "search/embedding/questions/explain/infeasible/remedy.h"

namespace shardwright::embedding {

struct Remedies {
  std::vector<Remedy> remedies;
  std::vector<FailedRemedy> in_vain;
};

// `present` is the oracle's answer for the problem as it is, `proved` whether it is proved to have
// no plan. Of the constraints only those of `tables`, which do not fit, are dropped: dropping
// another one leaves these tables where they are.
Remedies find_remedies(const Fit& present, bool proved, std::span<const TableId> tables,
                       FitOracle& oracle);

}  // namespace shardwright::embedding
