// TorchRec's EmbeddingEnumerator: every option of every table that sharder, device and constraints
// allow.
#pragma once

#include <memory>
#include <vector>

#include "core/embedding/search_space.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/compat/estimate.h"
#include "search/executor.h"

namespace shardwright::embedding {

// Returns the search space of `problem`, with costs. Tables are in TorchRec's order of modules: the
// last module first, unless use_exact_enumerate_order. Options of a table are ordered by sharding
// type, then by kernel, both in the order of the sharder's declaration or of the table's
// constraints, depending on TorchRec's release. Tables are estimated in parallel. `cost_model`:
// null = Estimator.
// Errors: kInvalidInput, naming the table, if it has no option, too few buckets for row_wise, or a
// cost above 2^62 bytes, or if `cost_model` gives costs that no search can use; kStopped if the
// budget is interrupted.
// Source: EmbeddingEnumerator.enumerate, torchrec/distributed/planner/enumerators.py.
Result<std::shared_ptr<const SearchSpace>> enumerate(std::shared_ptr<const Problem> problem,
                                                     Executor& executor, const Budget& budget = {},
                                                     const CostModel* cost_model = nullptr);

// A sharding type and kernel, before the table is cut and estimated.
struct ShardingChoice {
  ShardingType sharding_type = ShardingType::kTableWise;
  ComputeKernel compute_kernel = ComputeKernel::kFused;
};

// Returns the sharding types and kernels of a table that sharder, device and constraints allow, in
// the order of enumerate().
std::vector<ShardingChoice> allowed_choices(const Problem& problem, const Table& table);

// Returns the tables in the order in which enumerate() visits them.
std::vector<TableId> visit_order(const Problem& problem);

}  // namespace shardwright::embedding
