// Proves optima of cost instances whose graph is too wide for tables.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/executor.h"
#include "search/operators/solve/exact_search.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// Branch and bound. A subproblem is a set of allowed strategies per node. Every subproblem is
// reduced. If its graph is then narrow, tables solve it. Otherwise dual ascent bounds it and
// excludes strategies. It is then divided at one node: among the node's strategies with bounds near
// the best, the priced bytes differ most. Batches of subproblems, lowest bound first, are processed
// on the executor, and their results are applied in order. So the search is the same for any number
// of workers. Ends unfinished when the budget ends or after `max_nodes` subproblems. Calls
// `on_better` on the calling thread with every better choice or bound.
ExactResult branch_and_bound(const CostInstance& instance, const KnownSolution& known,
                             std::size_t max_nodes, Executor& executor, Budget& budget,
                             const std::function<void(const ExactResult&)>& on_better,
                             const SolverParameters& parameters = {});

}  // namespace shardwright::operators
