// Turns an operator graph into a cost graph: strategies, resharding costs and the merged form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "core/operators/graph/sharding_spec.h"
#include "core/operators/instance/cost_instance.h"
#include "core/status.h"
#include "search/executor.h"
#include "search/operators/strategies/merge.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright::operators {

// Counters of the work done; the same for any machine and number of threads.
struct CostGraphCounters {
  std::size_t strategies = 0;
  std::size_t dim_specs = 0;       // ways in which the mesh can shard a dimension
  std::size_t shapes = 0;          // distinct ones
  std::size_t specs = 0;           // distinct ones
  std::size_t path_searches = 0;   // distinct conversions
  std::size_t path_questions = 0;  // path costs asked for by matrices
  std::size_t matrix_entries = 0;  // of all edges, with shared matrices counted each time
  std::size_t matrices_computed = 0;
  std::size_t matrices = 0;  // distinct ones, including those of the merged form
};

// The input of ColossalAI's solver, by node of the operator graph. The cost of a node is the
// compute and communication cost of its strategy. The merged form adds `merged.extra` and lets
// aliases share one strategy. Thread safety: a value; copies share specs and the table, which any
// thread may use.
struct CostGraph {
  std::shared_ptr<SpecTable> table;  // owns the specs
  std::vector<NodeStrategies> strategies;
  MatrixPool matrices;
  std::vector<CostEdge> edges;  // by consumer, then by its inputs
  MergedGraph merged;
  std::vector<NodeAlias> aliases;  // by node; for nodes of the merged form that follow no other
  CostGraphCounters counters;

  const CostMatrix& matrix(const CostEdge& edge) const { return matrices[edge.matrix]; }
};

// Errors: as generate_strategies; kInfeasible at `/nodes/<node>` for a node without strategies. The
// result does not depend on `executor`.
Result<CostGraph> build_cost_graph(const OpGraph& graph, std::shared_ptr<const DeviceMesh> mesh,
                                   Executor& executor);

// Selects the form of a cost graph to solve, and the memory limit.
struct CostGraphForm {
  bool merged = true;                  // false: all nodes and edges, no shared strategies
  std::optional<std::int64_t> budget;  // limit of the bytes of all nodes on one device
};

// Errors: those of CostInstance::make and LoweredInstance::make.
Result<OperatorProblem> lower(const OpGraph& graph, const CostGraph& costs,
                              const CostGraphForm& form = {});

}  // namespace shardwright::operators
