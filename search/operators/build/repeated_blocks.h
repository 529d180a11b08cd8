// Finds repeated blocks of a graph, so that all of them are sharded alike.
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

// Numbers the nodes by class, in order of appearance. Nodes of one class have the same operator,
// written in the same way, inputs of equal shapes, and equal attributes unless a module holds them.
// All get_attr nodes are in one class, and every placeholder is in one of its own.
std::vector<std::uint32_t> node_classes(const OpGraph& graph);

// ColossalAI's search: for every class in turn, takes the blocks that begin at all of its nodes, if
// they are equal over the length found so far, and makes them longer while they stay equal. The
// last blocks found win. A block at the end of the graph loses its last node, the output. Source:
// find_repeat_blocks, ColossalAI colossalai/auto_parallel/tensor_shard/utils/factory.py.
RepeatedBlocks find_repeated_blocks(std::span<const std::uint32_t> classes,
                                    std::size_t min_length = kMinBlockLength);

// Each node of a later block with the node at the same place of the first block, by node. If blocks
// overlap, the last one decides.
std::vector<NodeAlias> block_aliases(const RepeatedBlocks& blocks);

}  // namespace shardwright::operators
