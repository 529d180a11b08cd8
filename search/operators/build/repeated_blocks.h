// Finds stretches of a graph that repeat, so that all of them are sharded alike.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/graph/op_graph.h"

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

// Equal numbers for nodes that repeated blocks take for equal: the same operator, written the same
// way, on inputs of equal shapes, and with equal attributes unless a module holds them. All
// get_attr nodes are equal, no two placeholders are. Numbered in the order in which they appear.
std::vector<std::uint32_t> node_classes(const OpGraph& graph);

// ColossalAI's search: for every class in turn, the blocks that begin at all of its nodes, if they
// are equal over the length found so far; then they are made longer. The last ones found win. A
// block that ends with the graph, whose last node is its output, becomes shorter instead. Source:
// find_repeat_blocks, ColossalAI colossalai/auto_parallel/tensor_shard/utils/factory.py.
RepeatedBlocks find_repeated_blocks(std::span<const std::uint32_t> classes,
                                    std::size_t min_length = kMinBlockLength);

// Nodes of later blocks with those of the first block at the same place, by node, each node once.
// Where blocks overlap, the last one decides.
std::vector<NodeAlias> block_aliases(const RepeatedBlocks& blocks);

}  // namespace shardwright::operators
