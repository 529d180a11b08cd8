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

// Branch and bound; a subproblem is a set of strategies per node. Every subproblem is reduced. If
// its width is then small, tables solve it. Otherwise dual ascent bounds it and excludes
// strategies, and it is divided at the node whose strategies near the bound differ most in priced
// bytes. Batches of subproblems, lowest bound first, are processed on the executor, and their
// results are applied in order, so the search is the same for any number of workers. Ends
// unfinished when the budget ends or after `max_nodes` subproblems. `on_better` is called on the
// calling thread with every better choice or bound.
ExactResult branch_and_bound(const CostInstance& instance, const KnownSolution& known,
                             std::size_t max_nodes, Executor& executor, Budget& budget,
                             const std::function<void(const ExactResult&)>& on_better,
                             const SolverParameters& parameters = {});

}  // namespace shardwright::operators
