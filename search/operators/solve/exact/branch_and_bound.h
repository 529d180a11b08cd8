// Proves optima of cost instances whose graph is too wide for tables.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/exact/exact_search.h"

namespace shardwright::operators {

// Branch and bound over sets of strategies. Every subproblem is reduced, closed by tables where it
// has become narrow, and otherwise bounded by dual ascent, which also excludes strategies; the node
// that is divided is the one whose nearly equal strategies differ most in priced bytes. Subproblems
// are processed in batches on the executor, the lowest bound first, and their results are taken in
// in order, so that the search is the same for any number of workers. `start` is a feasible choice.
// Ends unfinished where the budget ends or `max_nodes` subproblems were not enough. `on_better` is
// called on the calling thread.
ExactResult branch_and_bound(const CostInstance& instance,
                             const std::optional<std::vector<std::uint32_t>>& start,
                             std::size_t max_nodes, Executor& executor, Budget& budget,
                             const std::function<void(const ExactResult&)>& on_better);

}  // namespace shardwright::operators
