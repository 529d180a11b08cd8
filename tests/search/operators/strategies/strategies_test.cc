// Strategies: worked examples, numbers, options, and strategies that are left out.
#include "search/operators/strategies/generate.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "search/operators/strategies/writer.h"

namespace shardwright::strategies_test {

namespace {

using namespace shardwright;
using namespace shardwright::operators;

template <class T>
T require(Result<T> result) {
  if (!result.ok()) FAIL(result.error().to_string());
  return std::move(result).value();
}

OpNode source(std::string name, Extents shape) {
  OpNode node;
  node.name = std::move(name);
  node.shapes = {std::move(shape)};
  return node;
}

// A node whose inputs are placeholders `x0`, `x1`, ... of the given shapes.
struct Single {
  OpGraphSpec spec;

  Single(OpKind kind, std::vector<Extents> inputs, Extents output, OpAttrs attrs = {},
         OpCall call = OpCall::kFunction) {
    OpNode node = source("y", std::move(output));
    node.kind = kind;
    node.call = call;
    node.attrs = std::move(attrs);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      node.inputs.push_back(static_cast<std::uint32_t>(i));
      spec.nodes.push_back(source("x" + std::to_string(i), std::move(inputs[i])));
    }
    spec.nodes.push_back(std::move(node));
  }
  OpNode& node() { return spec.nodes.back(); }
  Single& owns(std::string name, Extents shape, bool buffer = false) {
    node().call = OpCall::kModule;
    node().params.push_back({std::move(name), std::move(shape), ElementType::kFloat32, buffer});
    return *this;
  }
};

struct Made {
  std::shared_ptr<SpecTable> table;
  NodeStrategies strategies;

  std::size_t size() const { return strategies.size(); }
  std::vector<std::string> names() const {
    std::vector<std::string> all;
    for (std::size_t s = 0; s < size(); ++s)
      all.push_back(strategies.name(s));
    return all;
  }
  bool has(const std::string& name) const {
    const std::vector<std::string> all = names();
    return std::find(all.begin(), all.end(), name) != all.end();
  }
  std::size_t index(const std::string& name) const {
    const std::vector<std::string> all = names();
    const auto found = std::find(all.begin(), all.end(), name);
    REQUIRE(found != all.end());
    return static_cast<std::size_t>(found - all.begin());
  }
};

Result<Made> try_make(const Single& single, std::vector<std::uint32_t> mesh = {2, 2},
                      StrategyOptions options = {}) {
  const OpGraph graph = require(OpGraph::make(single.spec));
  auto table =
      std::make_shared<SpecTable>(require(DeviceMesh::make({std::move(mesh), {}, {}, {}})));
  ReshardPlanner planner(*table, PathCost::kCompat);
  std::vector<std::uint32_t> chain;
  for (std::uint32_t i = 0; i < graph.size(); ++i) {
    if (follows_input(graph[i].kind)) chain.push_back(graph[i].inputs[0]);
  }
  chain.push_back(static_cast<std::uint32_t>(graph.size() - 1));
  SHARDWRIGHT_ASSIGN_OR_RETURN(NodeStrategies made,
                               generate_chain(graph, chain, options, *table, planner));
  return Made{std::move(table), std::move(made)};
}

Made make(const Single& single, std::vector<std::uint32_t> mesh = {2, 2},
          StrategyOptions options = {}) {
  return require(try_make(single, std::move(mesh), options));
}

// The product of an input [..., 16] and a weight [32, 16].
Single linear(Extents input) {
  Extents output = input;
  output.back() = 32;
  return Single(OpKind::kLinear, {std::move(input), {32, 16}}, std::move(output));
}

Single matmul(Extents a, Extents b, Extents out) {
  return Single(OpKind::kMatmul, {std::move(a), std::move(b)}, std::move(out));
}

StrategyOptions with(ShardOption option) {
  StrategyOptions options;
  options.shard_option = option;
  return options;
}

StrategyOptions with(SolverPreference preference) {
  StrategyOptions options;
  options.solver_preference = preference;
  return options;
}

}  // namespace

TEST_CASE("strategies: a product of column and row splits costs what the example says") {
  const Made made = make(linear({4, 4, 4, 16}));
  const std::size_t s = made.index("RS1 = RS0 x S0S1");
  const NodeStrategies& of = made.strategies;
  CHECK(of.spec(s, 0)->dims.to_string() == "R,R,R,S0");
  CHECK(of.spec(s, 1)->dims.to_string() == "S1,S0");
  CHECK(of.output_specs(s)[0]->dims.to_string() == "R,R,R,S1");
  CHECK(of[s].comm.forward == 4100.04);
  CHECK(of[s].comm.backward == 2052.04);
  CHECK(of[s].compute == PhaseCost{8192, 16384, 24576});
  CHECK(of[s].memory.total.activation == 8704);
  CHECK(of[s].memory.total.parameter == 1024);
  REQUIRE(of[s].comm_actions().size() == 2);
  CHECK(of[s].comm_actions()[0].place == CommPlace::kBefore);
  CHECK(of[s].comm_actions()[1].place == CommPlace::kAfter);
}

TEST_CASE("strategies: rows are split along a leading dimension that the devices divide") {
  CHECK(make(linear({4, 4, 4, 16})).size() == 24);
  const Made made = make(linear({1, 4, 4, 16}));
  CHECK(made.size() == 19);
  CHECK(!made.has("S01R = S01R x RR_0"));
  CHECK(made.has("S01R = S01R x RR_1"));
  CHECK(make(linear({4, 16})).size() == 14);
  // Four devices cannot divide two rows.
  CHECK(!make(linear({2, 16})).has("S01R = S01R x RR_0"));
}

TEST_CASE(
    "strategies: products of tensors of every rank have as many strategies as in ColossalAI") {
  CHECK(make(matmul({8}, {8}, {})).size() == 3);
  CHECK(make(matmul({4, 8}, {8}, {4})).size() == 3);
  CHECK(make(matmul({4, 8}, {8, 16}, {4, 16})).size() == 14);
  CHECK(make(matmul({8}, {8, 16}, {16})).size() == 9);
  CHECK(make(matmul({8}, {4, 8, 16}, {4, 16})).size() == 5);
  CHECK(make(matmul({4, 8, 16}, {16}, {4, 8})).size() == 5);
  CHECK(make(matmul({4, 8, 16}, {16, 32}, {4, 8, 32})).size() == 7);
  CHECK(make(matmul({2, 4, 8, 16}, {2, 4, 16, 32}, {2, 4, 8, 32})).size() == 7);
  const Single bmm(OpKind::kBmm, {{4, 8, 16}, {4, 16, 8}}, {4, 8, 8});
  CHECK(make(bmm).size() == 7);
  CHECK(make(bmm, {1, 4}).names() == std::vector<std::string>{"Sb0 = Sb0 x Sb0"});
}

TEST_CASE("strategies: a vector by a matrix is split along columns and the contracted dimension") {
  const Made made = make(matmul({8}, {8, 16}, {16}));
  const std::size_t s = made.index("RS1 = RS0 x S0S1");
  CHECK(made.strategies.spec(s, 0)->dims.to_string() == "S0");
  CHECK(made.strategies.spec(s, 1)->dims.to_string() == "S0,S1");
  CHECK(made.strategies.output_specs(s)[0]->dims.to_string() == "S1");
  // A device multiplies 4 by 4x8: 32 products forward, 8 + 32 backward.
  CHECK(made.strategies[s].compute == PhaseCost{32, 40, 72});
  CHECK(made.strategies[s].memory.backward.temporary == 128);
}

TEST_CASE("strategies: of several batch dimensions, the last that can be split is used") {
  const Made made = make(matmul({2, 4, 8, 16}, {2, 4, 16, 32}, {2, 4, 8, 32}));
  const std::size_t s = made.index("Sb0Si1 = Sb0Si1 x Sb0_1");
  CHECK(made.strategies.spec(s, 0)->dims.to_string() == "R,S0,S1,R");
  // Four devices divide only the second batch dimension.
  CHECK(made.has("Sb01 = Sb01 x Sb01_0"));
}

TEST_CASE("strategies: counts of convolution, norms, embedding and pooling are ColossalAI's") {
  OpAttrs conv;
  conv.kernel_size = {3, 3};
  CHECK(make(Single(OpKind::kConv2d, {{4, 4, 64, 64}, {16, 4, 3, 3}}, {4, 16, 64, 64}, conv))
            .size() == 16);
  CHECK(make(Single(OpKind::kBatchNorm, {{4, 16, 64, 64}}, {4, 16, 64, 64})
                 .owns("weight", {16})
                 .owns("bias", {16})
                 .owns("running_mean", {16}, true)
                 .owns("running_var", {16}, true)
                 .owns("num_batches_tracked", {}, true))
            .size() == 9);
  CHECK(make(Single(OpKind::kLayerNorm, {{4, 16}}, {4, 16}).owns("weight", {16}).owns("bias", {16}))
            .size() == 4);
  CHECK(make(Single(OpKind::kEmbedding, {{4, 16, 16}, {16, 32}}, {4, 16, 16, 32})).size() == 19);
  CHECK(make(Single(OpKind::kMaxPool2d, {{4, 4, 64, 64}}, {4, 4, 16, 16})).size() == 9);
}

TEST_CASE("strategies: a bias of a convolution is split with the channels and summed with them") {
  OpAttrs attrs;
  attrs.bias = true;
  const Made made = make(Single(OpKind::kConv2d, {{4, 4, 8, 8}}, {4, 16, 8, 8}, attrs)
                             .owns("weight", {16, 4, 3, 3})
                             .owns("bias", {16}));
  const std::size_t s = made.index("S0S1 = S0R x RS1");
  CHECK(made.strategies.spec(s, 2)->dims.to_string() == "S1");
  REQUIRE(made.strategies[s].comm_actions().size() == 3);
  CHECK(made.strategies[s].comm_actions()[2].place == CommPlace::kHook);
  CHECK(made.strategies[s].memory.forward.parameter == 4 * (8 * 4 * 9 + 8));
}

TEST_CASE(
    "strategies: a broadcast operand keeps the part of the placement that its dimensions have") {
  const Made made = make(Single(OpKind::kAdd, {{4, 4}, {4}}, {4, 4}));
  CHECK(made.size() == 9);
  const std::size_t s = made.index("[S0, S1] = [S0, S1] <binary-elementwise-op> [S0, S1]");
  CHECK(made.strategies.spec(s, 1)->dims.to_string() == "S1");
  REQUIRE(made.strategies[s].comm_actions().size() == 1);
  CHECK(made.strategies[s].comm_actions()[0].axes == 1);
  CHECK(made.strategies[s].comm.total == 0);
}

TEST_CASE("strategies: placements with uneven parts are left out") {
  CHECK(make(Single(OpKind::kGetAttr, {}, {10})).names() ==
        std::vector<std::string>{"get_attr [S0]", "get_attr [S1]", "get_attr [R]"});
  CHECK(make(Single(OpKind::kGetAttr, {}, {})).names() == std::vector<std::string>{"get_attr []"});
  CHECK(make(Single(OpKind::kGetAttr, {}, {3})).size() == 1);
}

TEST_CASE("strategies: shard options drop what uses too little of the mesh") {
  const Single single = linear({4, 4, 4, 16});
  CHECK(make(single, {2, 2}, with(ShardOption::kShard)).size() == 23);
  CHECK(make(single, {2, 2}, with(ShardOption::kFullShard)).size() == 19);
  CHECK(make(single, {2, 2}, with(ShardOption::kShardLastAxis)).names() ==
        std::vector<std::string>{"RR = RS1 x S1R", "RS1 = RR x RS1"});
}

TEST_CASE("strategies: the solver preference keeps data or tensor parallel products") {
  const Single single = linear({4, 16});
  CHECK(make(single, {2, 2}, with(SolverPreference::kDataParallel)).names() ==
        std::vector<std::string>{"S01R = S01R x RR_0"});
  const Made tensor = make(single, {2, 2}, with(SolverPreference::kTensorParallel));
  CHECK(tensor.size() == 8);
  CHECK(!tensor.has("RR = RR x RR"));
}

TEST_CASE(
    "strategies: a mesh of one axis has each split once, meshes of over two axes are refused") {
  CHECK(make(linear({4, 16}), {4}).names() ==
        std::vector<std::string>{"S0R = S0R x RR_0", "RR = RS0 x S0R", "RS0 = RR x RS0",
                                 "RR = RR x RR"});
  CHECK(make(Single(OpKind::kAdd, {{4, 4}, {4}}, {4, 4}), {4}).size() == 3);
  const auto refused = try_make(linear({4, 16}), {2, 2, 2});
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ErrorCode::kUnsupported);
}

TEST_CASE("strategies: what cannot be distributed over all devices is an error with its place") {
  StrategyOptions options;
  options.distributed_placeholder = true;
  CHECK(make(Single(OpKind::kPlaceholder, {}, {8, 3}, {}, OpCall::kNone), {2, 2}, options)
            .strategies.output_specs(0)[0]
            ->dims.to_string() == "S01,R");
  const auto failed =
      try_make(Single(OpKind::kPlaceholder, {}, {6, 3}, {}, OpCall::kNone), {2, 2}, options);
  REQUIRE(!failed.ok());
  CHECK(failed.error().where == "/nodes/0");
}

TEST_CASE("strategies: a transposed parameter counts as a parameter, an indexed one does not") {
  const auto parameter_bytes = [](OpKind kind, Extents output, OpAttrs attrs) {
    Single single(kind, {{4, 8}}, std::move(output), std::move(attrs));
    single.spec.nodes[0].is_param = true;
    return make(single).strategies[0].memory.total.parameter;
  };
  OpAttrs transpose;
  transpose.dims = {0, 1};
  CHECK(parameter_bytes(OpKind::kTranspose, {8, 4}, transpose) == 2 * 4 * 8 * 4);
  OpAttrs index;
  index.index.resize(1);
  index.index[0].number = 0;
  CHECK(parameter_bytes(OpKind::kGetitem, {8}, index) == 0);
}

TEST_CASE("strategies: groups of reshaped dimensions are found from the last to the first") {
  using operators::generators::reshape_groups;
  const Extents from{8, 16, 64, 64};
  const Extents to{8, 4, 4, 64, 16, 4};
  const auto groups = reshape_groups(from, to);
  REQUIRE(groups);
  REQUIRE(groups->size() == 4);
  CHECK((*groups)[0].from == std::vector<std::size_t>{3});
  CHECK((*groups)[0].to == std::vector<std::size_t>{5, 4});
  CHECK((*groups)[2].to == std::vector<std::size_t>{2, 1});
  const auto kept = operators::generators::reshape_placement(
      *groups, require(DimSpecs::parse("R,S0,R,S1")), to.size());
  REQUIRE(kept);
  CHECK(kept->to_string() == "R,S0,R,R,S1,R");
}

TEST_CASE("strategies: only the first of joined dimensions may stay sharded") {
  using operators::generators::reshape_groups;
  const Extents from{4, 8, 16};
  const Extents to{32, 16};
  const auto groups = reshape_groups(from, to);
  REQUIRE(groups);
  const auto placement = [&](const char* text) {
    return operators::generators::reshape_placement(*groups, require(DimSpecs::parse(text)),
                                                    to.size());
  };
  CHECK(placement("S0,R,S1")->to_string() == "S0,S1");
  CHECK(!placement("R,S0,R"));
}

}  // namespace shardwright::strategies_test
