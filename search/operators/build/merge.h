// Merges operators that compute next to nothing into the operators before them.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "search/operators/build/matrix_pool.h"

namespace shardwright::operators {

// Whether operators of this kind may be merged: elementwise ones of one operand, and those that
// only give a tensor another shape. Source: StrategiesVector.check_merge, ColossalAI
// colossalai/auto_parallel/tensor_shard/sharding_strategy.py.
bool mergeable(OpKind kind);
// The same of an operator as the model wrote it: of modules the peer merges only ReLU and dropout,
// of reshapes only the function.
bool mergeable(const OpNode& node);

// What is left after merging. Merged nodes keep their strategies and costs, but lose their edges.
struct MergedGraph {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::vector<CostEdge> edges;         // kept ones as before, then new ones as they were made
  std::vector<std::uint32_t> follows;  // by node: whose strategy it takes, kNone = its own
  std::vector<std::vector<double>>
      extra;  // by node and strategy: what merging added; empty = no merge
};

// ColossalAI's merging, losses included: a node keeps what its last merge added alone, and where an
// edge is there already the one that would join the same nodes vanishes. Pairs (parent, mergeable
// node) go from the last to the first; a strategy of the parent implies the last of the node's
// cheapest. `num_strategies` and `may_merge` are by node, `edges` by consumer and then by input, no
// two between the same nodes. New matrices are added to the pool. Source: CostGraph.merge_node,
// ColossalAI colossalai/auto_parallel/tensor_shard/solver/cost_graph.py.
MergedGraph merge_nodes(std::span<const std::uint32_t> num_strategies,
                        const std::vector<bool>& may_merge, std::span<const CostEdge> edges,
                        MatrixPool& pool);

}  // namespace shardwright::operators
