// The enumerator: every way of sharding every table that sharder, device and constraints allow.
#pragma once

#include <memory>
#include <vector>

#include "core/embedding/search_space.h"
#include "core/status.h"
#include "search/budget.h"
#include "search/embedding/compat/estimate/cost_model.h"
#include "search/executor.h"

namespace shardwright::embedding {

// The search space of `problem`, estimated. Tables follow TorchRec's visit of modules (last module
// first, unless use_exact_enumerate_order); the options of a table follow its constraints, or else
// the sharder's declaration: sharding types outer, kernels inner. Tables are estimated in parallel.
// Errors: kInvalidInput, naming the table, where nothing is left to choose or a cost leaves the
// range of 2^62 bytes; kStopped where the budget is interrupted. `cost_model` takes the place of
// the Estimator; costs that no search could use are kInvalidInput. Source:
// EmbeddingEnumerator.enumerate, torchrec/distributed/planner/enumerators.py.
Result<std::shared_ptr<const SearchSpace>> enumerate(std::shared_ptr<const Problem> problem,
                                                     Executor& executor, const Budget& budget = {},
                                                     const CostModel* cost_model = nullptr);

// A way of sharding a table, before it is cut and estimated.
struct ShardingChoice {
  ShardingType sharding_type = ShardingType::kTableWise;
  ComputeKernel compute_kernel = ComputeKernel::kFused;
};

// What sharder, device and constraints leave of a table's sharding types and kernels, in the order
// in which the enumerator takes them.
std::vector<ShardingChoice> allowed_choices(const Problem& problem, const Table& table);

// The tables in the order in which the enumerator visits them.
std::vector<TableId> visit_order(const Problem& problem);

}  // namespace shardwright::embedding
