// Makes the strategies of operators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "core/operators/graph/sharding_spec.h"
#include "core/status.h"
#include "search/executor.h"
#include "search/operators/strategies/reshard_path.h"
#include "search/operators/strategies/strategy.h"

namespace shardwright::operators {

// The options for a node's strategies: those of the graph unless the caller gives others.
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

// Generates the strategies of one node in ColossalAI's order, with unique names. The result is
// empty if no placement divides the tensors evenly. If the node follows its first input
// (follows_input(kind)), `producer` has the strategies of that input; otherwise it is ignored.
// `planner` prices conversions of several steps. It belongs to `table`, and its mode is kCompat or
// kSum, which both have the same steps. Errors: kUnsupported for a mesh of more than two axes;
// kInvalidInput below `/nodes/<node>` for a distributed placeholder or output that the devices do
// not divide. Cost: O(strategies); allocates only when vectors grow.
Result<NodeStrategies> generate_strategies(const OpGraph& graph, std::uint32_t node,
                                           const NodeStrategies* producer,
                                           const StrategyOptions& options, SpecTable& table,
                                           ReshardPlanner& planner);

// Generates the strategies of the last node of `chain`. Each node of the chain that follows its
// input follows the node before it. The other nodes have the standard shard option and preference.
// Precondition: the chain is not empty.
Result<NodeStrategies> generate_chain(const OpGraph& graph, std::span<const std::uint32_t> chain,
                                      const StrategyOptions& options, SpecTable& table,
                                      ReshardPlanner& planner);

// Generates the strategies of all nodes of a graph, with the graph's options. Nodes that follow no
// other node are generated in parallel first, then their followers, level by level. The result does
// not depend on `executor`.
Result<std::vector<NodeStrategies>> generate_strategies(const OpGraph& graph, SpecTable& table,
                                                        ReshardPlanner& planner,
                                                        Executor& executor);

}  // namespace shardwright::operators
