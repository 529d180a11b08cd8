// Finds repeated blocks of a graph, so that all of them are sharded alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/operators/graph/op_graph.h"
#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// Nodes [first[k], first[k] + length) are equal one by one for all k. Blocks may overlap.
struct RepeatedBlocks {
  std::vector<std::uint32_t> first;
  std::size_t length = 0;
};

// A node that shares the variables of another one.
struct NodeAlias {
  std::uint32_t node = 0;
  std::uint32_t of = 0;

  friend bool operator==(const NodeAlias&, const NodeAlias&) = default;
};

inline constexpr std::size_t kMinBlockLength = 10;

// Numbers the nodes by class, in order of appearance. Nodes of one class have the same operator
// in the same call form (function, method, module), inputs of equal shapes, and equal attributes
// unless a module holds them. All get_attr nodes are in one class, and every placeholder is in one
// of its own.
std::vector<std::uint32_t> node_classes(const OpGraph& graph);

// ColossalAI's search. For every class in turn: if the blocks that begin at all nodes of the class
// are equal over the length found so far, extends them while they stay equal. The last blocks found
// win. A block at the end of the graph loses its last node, the output. Source: find_repeat_blocks,
// ColossalAI colossalai/auto_parallel/tensor_shard/utils/factory.py.
RepeatedBlocks find_repeated_blocks(std::span<const std::uint32_t> classes,
                                    std::size_t min_length = kMinBlockLength);

// Pairs each node of a later block with the node at the same position of the first block, by node.
// If blocks overlap, the last block decides.
std::vector<NodeAlias> block_aliases(const RepeatedBlocks& blocks);

using CostMatrix = CostInstanceSpec::Matrix;
using CostEdge = CostInstanceSpec::Edge;

// Matrices numbered in the order in which they were first added.
// Thread safety: const members may be called from any thread while nobody adds.
class MatrixPool {
 public:
  // The number of the matrix with this content. O(entries).
  std::uint32_t intern(CostMatrix matrix);

  const CostMatrix& operator[](std::uint32_t i) const { return matrices_[i]; }
  std::size_t size() const { return matrices_.size(); }
  const std::vector<CostMatrix>& matrices() const { return matrices_; }

 private:
  std::vector<CostMatrix> matrices_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

// Returns true if operators of this kind may be merged: elementwise ones of one operand, and those
// that only change the shape of a tensor. Source: StrategiesVector.check_merge, ColossalAI
// colossalai/auto_parallel/tensor_shard/sharding_strategy.py.
bool mergeable(OpKind kind);
// The same for one node: of modules ColossalAI merges only ReLU and dropout, and it does not merge
// the method `reshape`.
bool mergeable(const OpNode& node);

// What is left after merging. Merged nodes keep their strategies and costs, but lose their edges.
struct MergedGraph {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::vector<CostEdge> edges;         // those that were kept, then new ones in order of creation
  std::vector<std::uint32_t> follows;  // by node: the node whose strategy it takes; kNone = its own
  std::vector<std::vector<double>>
      extra;  // by node and strategy: what merging added; empty = no merge
};

// Merges as ColossalAI does, including the costs that it loses: a node keeps only the cost that its
// last merge added, and a new edge is dropped if an edge joins the same nodes already. Pairs
// (parent, mergeable node) are merged from the last to the first. Each strategy of the parent
// implies the cheapest strategy of the merged node; of equally cheap ones, the last.
// `num_strategies` and `may_merge` are by node, `edges` by consumer and then by input, no two
// between the same nodes. New matrices are added to the pool. Source: CostGraph.merge_node,
// ColossalAI colossalai/auto_parallel/tensor_shard/solver/cost_graph.py.
MergedGraph merge_nodes(std::span<const std::uint32_t> num_strategies,
                        const std::vector<bool>& may_merge, std::span<const CostEdge> edges,
                        MatrixPool& pool);

}  // namespace shardwright::operators
