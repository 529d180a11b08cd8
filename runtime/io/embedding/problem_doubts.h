// Warnings about problems that are valid, but probably not what the user means.
#pragma once

#include <vector>

#include "core/embedding/problem/problem.h"
#include "core/status.h"

namespace shardwright {

// Returns a warning per kind of mistake, with its place in the problem file: ranks that are on no
// host, bandwidths and memory in a wrong unit, groups of one table, factors for other features than
// the table has, dimensions that FBGEMM's kernels refuse, a `min_partition` with which the columns
// of its table are never split. TorchRec accepts all of these. O(tables + columns).
std::vector<Error> problem_doubts(const embedding::Problem& problem);

}  // namespace shardwright
