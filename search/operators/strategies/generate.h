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

// The strategies of one node in ColossalAI's order, with unique names; none if no placement divides
// the tensors evenly. `producer` has the strategies of the node's first input if the node follows
// it (follows_input(kind)), and is ignored otherwise. `planner` prices conversions of several
// steps; it belongs to `table` and its mode is kCompat or kSum (both have the same steps). Errors:
// kUnsupported for a mesh of more than two axes; kInvalidInput, with the place below
// `/nodes/<node>`, for a distributed placeholder or output that the devices do not divide.
// Cost: O(strategies); strategies allocate nothing beyond the growth of vectors.
Result<NodeStrategies> generate_strategies(const OpGraph& graph, std::uint32_t node,
                                           const NodeStrategies* producer,
                                           const StrategyOptions& options, SpecTable& table,
                                           ReshardPlanner& planner);

// The strategies of the last node of `chain`. A node that follows its input follows the node before
// it in the chain. The nodes before the last are generated with the standard shard option and
// preference. Precondition: the chain is not empty.
Result<NodeStrategies> generate_chain(const OpGraph& graph, std::span<const std::uint32_t> chain,
                                      const StrategyOptions& options, SpecTable& table,
                                      ReshardPlanner& planner);

// The strategies of all nodes of a graph, with its options. Nodes that follow no other are
// generated in parallel, then those that follow them, level by level. The result does not depend on
// `executor`.
Result<std::vector<NodeStrategies>> generate_strategies(const OpGraph& graph, SpecTable& table,
                                                        ReshardPlanner& planner,
                                                        Executor& executor);

}  // namespace shardwright::operators
