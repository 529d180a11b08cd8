// Makes the strategies of operators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "core/operators/mesh/sharding_spec.h"
#include "core/status.h"
#include "search/executor.h"
#include "search/operators/reshard/reshard_planner.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright::operators {

// What a node is generated with; those of the graph, unless a caller asks for others.
struct StrategyOptions {
  bool distributed_placeholder = false;
  bool distributed_output = false;
  ShardOption shard_option = ShardOption::kStandard;
  SolverPreference solver_preference = SolverPreference::kStandard;

  static StrategyOptions of(const OpGraphOptions& options) {
    return {options.distributed_placeholder, options.distributed_output, options.shard_option,
            options.solver_preference};
  }
};

// The strategies of one node in ColossalAI's order, names unique; none where no placement divides
// the tensors evenly. `producer` holds the strategies of the node's first input where the node
// follows it (follows_input(kind)), and is not read otherwise. `planner` prices conversions of
// several steps; it belongs to `table` and its mode is kCompat or kSum (both have the same steps).
// Errors: kUnsupported for a mesh of more than two axes; kInvalidInput, with the place below
// `/nodes/<node>`, for a distributed placeholder or output that the devices do not divide.
// Cost: O(strategies), no allocation per strategy but the growth of vectors.
Result<NodeStrategies> generate_strategies(const OpGraph& graph, std::uint32_t node,
                                           const NodeStrategies* producer,
                                           const StrategyOptions& options, SpecTable& table,
                                           ReshardPlanner& planner);

// The strategies of the last of `chain`, in which every node follows the one before where it
// follows any. The nodes before the last are generated with the shard option and preference of a
// standard search. Precondition: the chain is not empty.
Result<NodeStrategies> generate_chain(const OpGraph& graph, std::span<const std::uint32_t> chain,
                                      const StrategyOptions& options, SpecTable& table,
                                      ReshardPlanner& planner);

// The strategies of all nodes of a graph, by its own options. Nodes that follow no other are
// generated at once, then those that follow these, level by level. The result does not depend on
// `executor`.
Result<std::vector<NodeStrategies>> generate_strategies(const OpGraph& graph, SpecTable& table,
                                                        ReshardPlanner& planner,
                                                        Executor& executor);

}  // namespace shardwright::operators
