// Repeated blocks: the nodes that count as equal, and the blocks that are found.
#include "search/operators/strategies/merge.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/operators/graph/op_graph.h"

namespace shardwright::repeated_blocks_test {

namespace {

using namespace shardwright::operators;

using Classes = std::vector<std::uint32_t>;

// Every letter is a class.
Classes classes_of(const std::string& letters) {
  Classes classes;
  for (const char letter : letters)
    classes.push_back(static_cast<std::uint32_t>(letter - 'A'));
  return classes;
}

OpNode node(std::string name, OpKind kind, OpCall call, Extents shape,
            std::vector<std::uint32_t> inputs) {
  OpNode made;
  made.name = std::move(name);
  made.kind = kind;
  made.call = call;
  made.shapes = {std::move(shape)};
  made.inputs = std::move(inputs);
  return made;
}

OpGraph graph_of(std::vector<OpNode> nodes) {
  OpGraphSpec spec;
  spec.name = "graph";
  spec.nodes = std::move(nodes);
  auto graph = OpGraph::make(std::move(spec));
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? std::string() : graph.error().to_string()));
  return std::move(graph).value();
}

}  // namespace

TEST_CASE("repeated blocks: a block is found if every node of its first class begins one") {
  const RepeatedBlocks blocks = find_repeated_blocks(classes_of("XABCDYABCDZ"), 3);
  CHECK(blocks.first == Classes{1, 6});
  CHECK(blocks.length == 4);
}

TEST_CASE("repeated blocks: blocks below the minimum length are ignored") {
  const RepeatedBlocks blocks = find_repeated_blocks(classes_of("XABCDYABCDZ"), 5);
  CHECK(blocks.first.empty());
  CHECK(blocks.length == 0);
}

TEST_CASE("repeated blocks: no block begins with a class that also occurs elsewhere") {
  // A also occurs outside of the blocks, so the blocks begin with B.
  const RepeatedBlocks blocks = find_repeated_blocks(classes_of("ABCDXABCDYAZ"), 2);
  CHECK(blocks.first == Classes{1, 6});
  CHECK(blocks.length == 3);
}

TEST_CASE("repeated blocks: of blocks of equal length the last ones win") {
  const RepeatedBlocks blocks = find_repeated_blocks(classes_of("ABXABYCDZCDW"), 2);
  CHECK(blocks.first == Classes{6, 9});
  CHECK(blocks.length == 2);
}

TEST_CASE("repeated blocks: blocks must be as long as the longest found before") {
  const RepeatedBlocks blocks = find_repeated_blocks(classes_of("ABCXABCYDEZDEW"), 2);
  CHECK(blocks.first == Classes{0, 4});
  CHECK(blocks.length == 3);
}

TEST_CASE("repeated blocks: a block at the end of the graph is shortened node by node") {
  CHECK(find_repeated_blocks(classes_of("ABCDABCD"), 4).first.empty());
  // If a node follows the last block, the block keeps its length.
  const RepeatedBlocks inner = find_repeated_blocks(classes_of("ABCDABCDX"), 4);
  CHECK(inner.first == Classes{0, 4});
  CHECK(inner.length == 4);
}

TEST_CASE("repeated blocks: aliases lead to the first block, the last overlap decides") {
  CHECK(block_aliases({{1, 6}, 2}) == std::vector<NodeAlias>{{6, 1}, {7, 2}});
  CHECK(block_aliases({{0, 2}, 3}) == std::vector<NodeAlias>{{2, 0}, {3, 1}, {4, 2}});
  CHECK(block_aliases({{0, 1, 2}, 2}) == std::vector<NodeAlias>{{1, 0}, {2, 1}, {3, 1}});
  CHECK(block_aliases({}).empty());
}

TEST_CASE("repeated blocks: the length never exceeds the graph") {
  CHECK(find_repeated_blocks({}, 10).first.empty());
  CHECK(find_repeated_blocks(Classes(5, 0), 10).first.empty());
  const RepeatedBlocks blocks = find_repeated_blocks(Classes(40, 0), 10);
  CHECK(blocks.first.empty());  // the last node cannot begin a block of ten
}

TEST_CASE("repeated blocks: nodes are equal by operator, call and input shapes") {
  const auto function = OpCall::kFunction;
  const OpGraph graph = graph_of({node("a", OpKind::kPlaceholder, OpCall::kNone, {4, 8}, {}),
                                  node("b", OpKind::kPlaceholder, OpCall::kNone, {4, 8}, {}),
                                  node("c", OpKind::kPlaceholder, OpCall::kNone, {8, 4}, {}),
                                  node("r1", OpKind::kRelu, function, {4, 8}, {0}),
                                  node("r2", OpKind::kRelu, function, {4, 8}, {1}),
                                  node("r3", OpKind::kRelu, function, {8, 4}, {2}),
                                  node("r4", OpKind::kRelu, OpCall::kModule, {4, 8}, {1}),
                                  node("t", OpKind::kTanh, function, {4, 8}, {1})});
  CHECK(node_classes(graph) == Classes{0, 1, 2, 3, 3, 4, 5, 6});
}

TEST_CASE(
    "repeated blocks: attributes count except for those of modules, and all get_attr nodes are "
    "equal") {
  std::vector<OpNode> nodes{node("w", OpKind::kGetAttr, OpCall::kNone, {4, 8}, {}),
                            node("v", OpKind::kGetAttr, OpCall::kNone, {2}, {}),
                            node("x", OpKind::kPlaceholder, OpCall::kNone, {4, 8}, {})};
  nodes.push_back(node("p1", OpKind::kPow, OpCall::kFunction, {4, 8}, {2}));
  nodes.push_back(node("p2", OpKind::kPow, OpCall::kFunction, {4, 8}, {2}));
  nodes.push_back(node("p3", OpKind::kPow, OpCall::kFunction, {4, 8}, {2}));
  for (std::size_t n = 3; n < 6; ++n) {
    nodes[n].attrs.scalar = n == 5 ? 3.0 : 2.0;
    nodes[n].attrs.scalar_position = 1;
  }
  nodes.push_back(node("s1", OpKind::kSoftmax, OpCall::kModule, {4, 8}, {2}));
  nodes.push_back(node("s2", OpKind::kSoftmax, OpCall::kModule, {4, 8}, {2}));
  nodes[6].attrs.dims = {0};
  nodes[7].attrs.dims = {1};
  CHECK(node_classes(graph_of(std::move(nodes))) == Classes{0, 0, 1, 2, 2, 3, 4, 4});
}

}  // namespace shardwright::repeated_blocks_test
