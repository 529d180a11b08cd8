// How does one block of GPT-2 run on 2 x 2 devices, and what does merging cheap operators cost?
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "runtime/operators/build.h"
#include "runtime/operators/solve.h"

using namespace shardwright;
using namespace shardwright::operators;

namespace {

using NodeId = std::uint32_t;

constexpr std::int64_t kTokens = 32;
constexpr std::int64_t kWidth = 384;
constexpr std::int64_t kHeads = 16;
constexpr std::int64_t kHeadWidth = kWidth / kHeads;

// Adds the nodes that a tracer of GPT-2 would find.
class Block {
 public:
  NodeId add(OpKind kind, OpCall call, Extents shape, std::vector<NodeId> inputs) {
    OpNode node;
    node.name = std::string(to_name(kind)) + "_" + std::to_string(nodes.size());
    node.kind = kind;
    node.call = call;
    node.shapes = {std::move(shape)};
    node.inputs = std::move(inputs);
    nodes.push_back(std::move(node));
    return static_cast<NodeId>(nodes.size() - 1);
  }
  NodeId function(OpKind kind, Extents shape, std::vector<NodeId> inputs) {
    return add(kind, OpCall::kFunction, std::move(shape), std::move(inputs));
  }
  NodeId method(OpKind kind, Extents shape, NodeId input) {
    return add(kind, OpCall::kMethod, std::move(shape), {input});
  }
  NodeId placeholder(Extents shape) {
    return add(OpKind::kPlaceholder, OpCall::kNone, std::move(shape), {});
  }
  NodeId parameter(Extents shape) {
    const NodeId node = add(OpKind::kGetAttr, OpCall::kNone, std::move(shape), {});
    nodes[node].is_param = true;
    return node;
  }

  NodeId view(NodeId input, const Extents& shape) {
    const NodeId node = method(OpKind::kView, shape, input);
    nodes[node].attrs.target_shape = shape;
    nodes[node].attrs.given_shape = shape;
    return node;
  }
  NodeId rearrange(OpKind kind, NodeId input, Extents shape, std::vector<std::int64_t> dims) {
    const NodeId node = method(kind, std::move(shape), input);
    nodes[node].attrs.dims = std::move(dims);
    return node;
  }
  NodeId scale(OpKind kind, NodeId input, double scalar, std::int64_t position) {
    const NodeId node = function(kind, nodes[input].shapes[0], {input});
    nodes[node].attrs.scalar = scalar;
    nodes[node].attrs.scalar_position = position;
    return node;
  }
  NodeId layer_norm(NodeId input) {
    const NodeId node = add(OpKind::kLayerNorm, OpCall::kModule, nodes[input].shapes[0], {input});
    nodes[node].params = {{"weight", {kWidth}}, {"bias", {kWidth}}};
    return node;
  }
  // Multiplies the tokens by a weight, which GPT-2 stores as [in, out], and adds a bias.
  NodeId dense(NodeId input, std::int64_t in, std::int64_t out) {
    const NodeId bias = parameter({out});
    const NodeId rows = view(input, {kTokens, in});
    const NodeId weight = parameter({in, out});
    const NodeId turned = rearrange(OpKind::kTranspose, weight, {out, in}, {0, 1});
    nodes[turned].is_param = true;
    const NodeId product = function(OpKind::kLinear, {kTokens, out}, {rows, turned});
    return view(function(OpKind::kAdd, {kTokens, out}, {product, bias}), {1, kTokens, out});
  }
  NodeId attention(NodeId input, NodeId mask) {
    const Extents heads{1, kHeads, kTokens, kHeadWidth};
    const NodeId joined =
        view(dense(input, kWidth, 3 * kWidth), {1, kTokens, kHeads, 3 * kHeadWidth});
    const NodeId by_head =
        rearrange(OpKind::kPermute, joined, {1, kHeads, kTokens, 3 * kHeadWidth}, {0, 2, 1, 3});
    const NodeId parts = rearrange(OpKind::kSplit, by_head, heads, {3});
    nodes[parts].shapes = {heads, heads, heads};
    nodes[parts].tuple = true;
    nodes[parts].attrs.split_size = kHeadWidth;
    std::vector<NodeId> part;
    for (std::int64_t k = 0; k < 3; ++k) {
      part.push_back(function(OpKind::kGetitem, heads, {parts}));
      nodes[part.back()].attrs.index.emplace_back().number = k;
    }
    const NodeId keys =
        rearrange(OpKind::kTranspose, part[1], {1, kHeads, kHeadWidth, kTokens}, {-1, -2});
    const Extents square{1, kHeads, kTokens, kTokens};
    const NodeId scores =
        scale(OpKind::kTruediv, function(OpKind::kMatmul, square, {part[0], keys}), 4.899, 1);
    const NodeId masked = function(OpKind::kAdd, square, {scores, mask});
    const NodeId weights = function(OpKind::kSoftmax, square, {masked});
    nodes[weights].attrs.dims = {-1};
    const NodeId mixed = function(OpKind::kMatmul, heads, {weights, part[2]});
    const NodeId back =
        rearrange(OpKind::kPermute, mixed, {1, kTokens, kHeads, kHeadWidth}, {0, 2, 1, 3});
    const NodeId packed = method(OpKind::kContiguous, {1, kTokens, kHeads, kHeadWidth}, back);
    return dense(view(packed, {1, kTokens, kWidth}), kWidth, kWidth);
  }
  NodeId perceptron(NodeId input) {
    const NodeId up = dense(input, kWidth, 4 * kWidth);
    const NodeId gate =
        function(OpKind::kTanh, {1, kTokens, 4 * kWidth}, {scale(OpKind::kMul, up, 0.798, 0)});
    const NodeId active =
        function(OpKind::kMul, {1, kTokens, 4 * kWidth},
                 {scale(OpKind::kMul, up, 0.5, 0), scale(OpKind::kAdd, gate, 1.0, 0)});
    return dense(active, 4 * kWidth, kWidth);
  }

  std::vector<OpNode> nodes;
};

Result<OpGraph> make_graph() {
  const Extents shape{1, kTokens, kWidth};
  Block block;
  const NodeId input = block.placeholder(shape);
  const NodeId mask = block.placeholder({1, kTokens});
  const NodeId attended = block.attention(block.layer_norm(input), mask);
  const NodeId middle = block.function(OpKind::kAdd, shape, {attended, input});
  const NodeId fed = block.perceptron(block.layer_norm(middle));
  const NodeId sum = block.function(OpKind::kAdd, shape, {fed, middle});
  block.add(OpKind::kOutput, OpCall::kNone, shape, {sum});
  OpGraphSpec spec;
  spec.name = "block";
  spec.nodes = std::move(block.nodes);
  return OpGraph::make(std::move(spec));
}

Result<OperatorsResult> solve_form(const OpGraph& graph, const CostGraph& costs, bool merged) {
  CostGraphForm form;
  form.merged = merged;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const OperatorProblem problem, lower(graph, costs, form));
  return solve_operators(problem);
}

int fail(const Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return 1;
}

}  // namespace

int main() {
  const Result<OpGraph> graph = make_graph();
  if (!graph.ok()) return fail(graph.error());
  const Result<BuiltOperators> built = build_operators(*graph, *parse_mesh("2x2"));
  if (!built.ok()) return fail(built.error());
  const CostGraph& costs = built->costs;
  std::printf("%zu nodes, %zu strategies, %zu edges, %zu after merging\n", graph->size(),
              costs.counters.strategies, costs.edges.size(), costs.merged.edges.size());

  const Result<OperatorsResult> whole = solve_form(*graph, costs, false);
  const Result<OperatorsResult> merged = solve_form(*graph, costs, true);
  if (!whole.ok()) return fail(whole.error());
  if (!merged.ok()) return fail(merged.error());
  std::printf("every node counts: %.2f\nmerged as ColossalAI does: %.2f\n\n", whole->objective,
              merged->objective);
  for (std::size_t n = 0; n < graph->size(); ++n) {
    if ((*graph)[n].kind != OpKind::kLinear && (*graph)[n].kind != OpKind::kMatmul) continue;
    std::printf("%-10s %s\n", (*graph)[n].name.c_str(),
                costs.strategies[n].name(whole->choice[n]).c_str());
  }
  return whole->status == SolveStatus::kOptimal && merged->status == SolveStatus::kOptimal ? 0 : 1;
}
