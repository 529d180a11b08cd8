#include "core/operators/aten/graph/aten_graph.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "core/operators/aten/memory/held_tensors.h"
#include "core/operators/aten/plan/roofline.h"
#include "tests/support/operators/aten_builder.h"

namespace shardwright::aten_graph_test {

namespace {

using namespace shardwright::operators;
using test_support::AtenBuilder;

std::string error_of(const std::function<void(AtenGraphSpec&)>& change) {
  AtenGraphSpec spec = test_support::two_layer_training();
  change(spec);
  const Result<AtenGraph> graph = AtenGraph::make(std::move(spec));
  return graph.ok() ? "" : graph.error().to_string();
}

}  // namespace

TEST_CASE("aten graph: a training step pairs gradients with parameters and tangents with outputs") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training()).value();
  REQUIRE(graph.pairs().size() == 3);
  CHECK(graph[graph.pairs()[0].placeholder].role == AtenRole::kTangent);
  CHECK(graph.pairs()[0].output == 0);
  CHECK(graph[graph.pairs()[1].placeholder].target == "layers.1.weight");
  CHECK(graph[graph.pairs()[2].placeholder].target == "layers.0.weight");
}

TEST_CASE("aten graph: what does not fit together is refused with its place") {
  using Spec = AtenGraphSpec;
  CHECK(error_of([](Spec&) {}).empty());
  CHECK(error_of([](Spec& s) { s.nodes.clear(); }) == "/nodes: must not be empty");
  CHECK(error_of([](Spec& s) { s.nodes[1].name = s.nodes[0].name; }) ==
        "/nodes/1/name: another node has the name \"placeholder0\"");
  CHECK(error_of([](Spec& s) { s.nodes[4].inputs[0].node = 5; }) ==
        "/nodes/4/inputs/0: node 5 is not before \"aten.mm.default4\"");
  CHECK(error_of([](Spec& s) { s.nodes[4].inputs[0].output = 1; }) ==
        "/nodes/4/inputs/0: \"placeholder2\" has no tensor 1");
  CHECK(error_of([](Spec& s) { s.nodes[4].rule = 99; }) ==
        "/nodes/4/rule: there is no rule 99");
  CHECK(error_of([](Spec& s) { s.rules[s.nodes[4].rule].entries[1].inputs.pop_back(); }) ==
        "/rules/4/strategies/1: a tensor has a placement in all strategies of a rule or in none");
  CHECK(error_of([](Spec& s) { s.rules[s.nodes[4].rule].entries[1].outputs = {AtenBuilder::word("S2")}; }) ==
        "/rules/4/strategies/1/outputs/0: that tensor of \"aten.mm.default4\" has no dimension 2");
  CHECK(error_of([](Spec& s) { s.rules[0].entries[0].outputs = {AtenBuilder::word("P")}; }) ==
        "/rules/0/strategies/0/outputs/0: a placeholder is never partial");
  CHECK(error_of([](Spec& s) { s.nodes[4].outputs[0]->shape[0] = -1; }) ==
        "/nodes/4/outputs/0/shape/0: must not be negative");
  CHECK(error_of([](Spec& s) { s.nodes[4].outputs[0]->shape[0] = std::int64_t{1} << 47; }) ==
        "/nodes/4/outputs/0/shape: a tensor has fewer than 2^48 elements");
  CHECK(error_of([](Spec& s) { s.nodes[4].outputs[0]->stride.pop_back(); }) ==
        "/nodes/4/outputs/0/stride: 1 strides for 2 dimensions");
  CHECK(error_of([](Spec& s) { s.nodes[4].flops[0].extents[0].dim = 2; }) ==
        "/nodes/4/flops/0: the tensor has no dimension 2");
  CHECK(error_of([](Spec& s) { s.nodes[4].flops[0].factor = std::int64_t{1} << 61; }) ==
        "/nodes/4/flops/0: 2^62 or more floating-point operations");
  CHECK(error_of([](Spec& s) { s.nodes[2].view = true; }) ==
        "/nodes/2/view: a view has an input and an output");
  CHECK(error_of([](Spec& s) { s.nodes[2].target.clear(); }) ==
        "/nodes/2/target: must not be empty");
  CHECK(error_of([](Spec& s) { s.outputs[1].target = "other"; }) ==
        "/outputs/1/target: no parameter, buffer or input has the target \"other\"");
  CHECK(error_of([](Spec& s) { s.outputs[1].value.node = 99; }) ==
        "/outputs/1/node: there is no node 99");
  CHECK(error_of([](Spec& s) { s.outputs.erase(s.outputs.begin()); }) ==
        "/nodes/3/target: no output has the target \"0\"");
  CHECK(error_of([](Spec& s) { s.outputs[2].target = s.outputs[1].target; }) ==
        "/outputs/2/target: another output has the target \"layers.1.weight\"");
}

TEST_CASE("held tensors: parameters stay, activations end with their last use, views prolong lives") {
  const AtenGraph graph = AtenGraph::make(test_support::two_layer_training()).value();
  const std::vector<HeldTensor> held = held_tensors(graph, 2);
  const auto find = [&](HeldTensor::Kind kind, std::uint32_t index) {
    for (const HeldTensor& tensor : held) {
      if (tensor.kind == kind && tensor.index == index) return tensor;
    }
    return HeldTensor();
  };
  using Kind = HeldTensor::Kind;
  const std::uint32_t end = num_time_points(graph);
  CHECK(find(Kind::kOutput, 0).live == LiveInterval{0, end});
  CHECK(find(Kind::kOutput, 0).copies == 3);
  // h = node 4 is viewed by node 6, which node 7 reads.
  CHECK(find(Kind::kOutput, 4).live == LiveInterval{4, 8});
  CHECK(find(Kind::kMovedInput, 6).live == LiveInterval{6, 8});
  // x is viewed by node 10, which node 11 reads.
  CHECK(find(Kind::kOutput, 2).live == LiveInterval{0, 12});
  CHECK(find(Kind::kOutput, 5).live == LiveInterval{5, 6});
  CHECK(find(Kind::kGraphOutput, 0).live == LiveInterval{6, end});
  CHECK(find(Kind::kGraphOutput, 2).live == LiveInterval{12, end});
}

TEST_CASE("roofline: the larger of traffic and arithmetic, at 70 %, at least 7 us; views are free") {
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", {8192, 4096});
  const auto w = b.placeholder(AtenRole::kInput, "w", {4096, 4096});
  const auto y = b.mm(x, w);
  const auto z = b.pointwise({y});
  const auto t = b.transpose(z);
  b.output(t, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  const ComputeDevice h100 = *find_compute_device("NVIDIA H100 80GB HBM3");
  const redistribution::MeshShape mesh{4};
  const auto us = [&](std::uint32_t node, std::vector<MaybePlacement> outputs,
                      std::vector<MaybePlacement> inputs) {
    return compute_us(graph, graph[node], mesh, outputs, inputs, h100);
  };
  const redistribution::Placement whole;
  const redistribution::Placement rows = whole.with_shard(0, 0);
  const double flops = 2.0 * 8192 * 4096 * 4096;
  CHECK(us(y, {whole}, {whole, whole}) == flops / 494e12 * 1e6 / 0.70);
  CHECK(us(y, {rows}, {rows, whole}) == flops / 4 / 494e12 * 1e6 / 0.70);
  const double bytes = 2.0 * 8192 * 4096 * 4;
  CHECK(us(z, {whole}, {whole}) ==
        bytes / (3.35 * 1024 * 1024 * 1024 * 1024) * 1e6 / 0.70);
  CHECK(us(t, {whole}, {whole}) == 0);
  CHECK(us(x, {whole}, {}) == 0);
  CHECK_FALSE(find_compute_device("abacus"));
  CHECK(find_compute_device("h100")->name == "H100");
}

}  // namespace shardwright::aten_graph_test
