// The cost of passing tensors from one operator to the next, for every pair of strategies.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "search/executor.h"
#include "search/operators/build/matrix_pool.h"
#include "search/operators/reshard/reshard_planner.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright::operators {

struct EdgeCosts {
  std::vector<CostEdge> edges;    // by consumer, then by its inputs
  std::size_t num_computed = 0;   // matrices that were computed
  std::size_t num_questions = 0;  // path costs asked of the planner
};

// One edge per node and input; edges with equal matrices share one. Entry [i][j] is the planner's
// total cost of the path from the producer's output under i to the consumer's operand under j,
// times the element size, summed over the elements of a tuple. A matrix is computed once for all
// edges that have the same lists of specs on both sides. Precondition: every node has a strategy,
// and all specs are of the planner's table. The result does not depend on `executor`.
EdgeCosts compute_edge_costs(const OpGraph& graph, std::span<const NodeStrategies> strategies,
                             ReshardPlanner& planner, Executor& executor, MatrixPool& pool);

}  // namespace shardwright::operators
