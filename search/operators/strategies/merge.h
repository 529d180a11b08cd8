// Finds repeated blocks of a graph, so that all repetitions can be sharded alike, and merges nodes.
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

// Equal blocks: for each offset below `length`, the nodes first[k] + offset of all k have one
// class. Blocks may overlap.
struct RepeatedBlocks {
  std::vector<std::uint32_t> first;
  std::size_t length = 0;
};

// A node that takes the strategy of the node `of`, since both are at one place of repeated blocks.
struct NodeAlias {
  std::uint32_t node = 0;
  std::uint32_t of = 0;

  friend bool operator==(const NodeAlias&, const NodeAlias&) = default;
};

inline constexpr std::size_t kMinBlockLength = 10;

// Returns the class of each node; classes are numbered in order of appearance. Nodes of one class
// have the same operator in the same call form (function, method, module), inputs of equal shapes,
// and equal attributes unless a module holds them. All get_attr nodes form one class, and every
// placeholder has its own class.
std::vector<std::uint32_t> node_classes(const OpGraph& graph);

// ColossalAI's search for repeated blocks. Visits the classes in turn and keeps the longest length
// so far. If the blocks of this length that begin at all nodes of a class are equal, it extends
// them while they stay equal. The last blocks found are the result. A block at the end of the graph
// loses its last node, the output. Source: find_repeat_blocks, ColossalAI
// colossalai/auto_parallel/tensor_shard/utils/factory.py.
RepeatedBlocks find_repeated_blocks(std::span<const std::uint32_t> classes,
                                    std::size_t min_length = kMinBlockLength);

// Returns an alias for each node of a later block: the node at the same position of the first
// block. The result is by node. If blocks overlap, the last block decides.
std::vector<NodeAlias> block_aliases(const RepeatedBlocks& blocks);

using CostMatrix = CostInstanceSpec::Matrix;
using CostEdge = CostInstanceSpec::Edge;

// Distinct matrices, numbered in the order in which they were first added.
// Thread safety: const members may be called from any thread while nobody adds.
class MatrixPool {
 public:
  // Returns the number of the matrix with this content; adds it if it is new. O(entries).
  std::uint32_t intern(CostMatrix matrix);

  const CostMatrix& operator[](std::uint32_t i) const { return matrices_[i]; }
  std::size_t size() const { return matrices_.size(); }
  const std::vector<CostMatrix>& matrices() const { return matrices_; }

 private:
  std::vector<CostMatrix> matrices_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

// Returns true if operators of this kind may be merged: elementwise operators of one operand, and
// operators that only change the shape of a tensor. Source: StrategiesVector.check_merge,
// ColossalAI colossalai/auto_parallel/tensor_shard/sharding_strategy.py.
bool mergeable(OpKind kind);
// As above for one node. Of modules, ColossalAI merges only ReLU and dropout; it never merges the
// method `reshape`.
bool mergeable(const OpNode& node);

// The graph after merging. Merged nodes keep their strategies and costs, but lose their edges.
struct MergedGraph {
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  std::vector<CostEdge> edges;         // kept edges, then new ones in order of creation
  std::vector<std::uint32_t> follows;  // by node: the node whose strategy it takes, or kNone
  std::vector<std::vector<double>>
      extra;  // by node and strategy: cost that merging added; empty: none
};

// Merges nodes as ColossalAI does, with the costs that ColossalAI loses: a node keeps only the cost
// that its last merge added, and a new edge is dropped if an edge joins the same nodes already.
// Pairs (parent, mergeable node) are merged from the last to the first. Each strategy of the parent
// implies the cheapest strategy of the merged node; of equally cheap ones, the last.
// `num_strategies` and `may_merge` are by node. `edges` are sorted by consumer and then by input,
// and no two join the same nodes. New matrices are added to the pool. Source: CostGraph.merge_node,
// ColossalAI colossalai/auto_parallel/tensor_shard/solver/cost_graph.py.
MergedGraph merge_nodes(std::span<const std::uint32_t> num_strategies,
                        const std::vector<bool>& may_merge, std::span<const CostEdge> edges,
                        MatrixPool& pool);

}  // namespace shardwright::operators
