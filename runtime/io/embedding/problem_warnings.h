// Warnings about problems that are valid but probably wrong.
#pragma once

#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"

namespace shardwright {

// Returns a warning per kind of mistake, with its place in the problem file: ranks on no host,
// bandwidth or memory in a wrong unit, groups of one table, factors whose number differs from the
// number of features, dimensions that FBGEMM's kernels refuse, and a `min_partition` with which
// columns are never split. TorchRec accepts all of these. Cost: O(tables + columns).
std::vector<Error> problem_warnings(const embedding::Problem& problem);

}  // namespace shardwright
