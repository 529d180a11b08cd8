#include "core/operators/aten/aten_graph.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "core/operators/aten/held_tensors.h"
#include "core/operators/aten/roofline.h"
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
  CHECK(error_of([](Spec& s) { s.nodes[4].rule = 99; }) == "/nodes/4/rule: there is no rule 99");
  CHECK(error_of([](Spec& s) { s.rules[s.nodes[4].rule].entries[1].inputs.pop_back(); }) ==
        "/rules/1/strategies/1: a tensor has a placement in all strategies of a rule or in none");
  CHECK(error_of([](Spec& s) {
          s.rules[s.nodes[4].rule].entries[1].outputs = {AtenBuilder::word("S2")};
        }) ==
        "/rules/1/strategies/1/outputs/0: that tensor of \"aten.mm.default4\" has no dimension 2");
  CHECK(error_of([](Spec& s) { s.rules[0].entries[0].outputs = {AtenBuilder::word("P")}; }) ==
        "/rules/0/strategies/0/outputs/0: a placeholder is never partial");
  CHECK(error_of([](Spec& s) { s.nodes[4].outputs[0]->shape[0] = -1; }) ==
        "/nodes/4/outputs/0/shape/0: an extent cannot be -1; dimension 0 of \"aten.mm.default4\" "
        "needs its size "
        "as a number: trace the model with fixed sizes");
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

TEST_CASE(
    "held tensors: parameters stay, activations end with their last use, views prolong lives") {
  AtenGraphSpec spec = test_support::two_layer_training();
  for (std::size_t n = 6; n < spec.nodes.size(); ++n)
    spec.nodes[n].backward = true;
  const AtenGraph graph = AtenGraph::make(std::move(spec)).value();
  const TimeLine time(graph);
  const std::vector<HeldTensor> held = held_tensors(graph, 2);
  const auto find = [&](HeldTensor::Kind kind, std::uint32_t index, std::uint32_t tensor = 0) {
    for (const HeldTensor& each : held) {
      if (each.kind == kind && each.index == index && each.tensor == tensor) return each;
    }
    return HeldTensor();
  };
  const auto run = [&](std::uint32_t node) { return time.run_of(node); };
  using Kind = HeldTensor::Kind;
  CHECK(find(Kind::kOutput, 0).live == LiveInterval{0, time.size()});
  CHECK(find(Kind::kOutput, 0).copies == 3);
  // The tangent (node 3) arrives when the backward pass begins, whose first operator is node 6.
  CHECK(find(Kind::kOutput, 3).live.begin == time.begin_of(6));
  // Node 4 makes h, and node 6 is a view of h that only node 7 reads. h is freed once the view has
  // been redistributed.
  CHECK(find(Kind::kOutput, 4).live == LiveInterval{run(4), time.move_of({7, 0}) + 1});
  CHECK(find(Kind::kLastTaken, 7, 0).live == LiveInterval{time.move_of({7, 0}) + 1, run(7) + 1});
  CHECK(find(Kind::kMoving, 7, 0).live ==
        LiveInterval{time.move_of({7, 0}), time.move_of({7, 0}) + 1});
  CHECK(find(Kind::kMoved, 6).live == LiveInterval{time.move_of({6, 0}) + 1, run(7) + 1});
  CHECK(find(Kind::kMoved, 7, 1).live == LiveInterval{time.move_of({7, 1}) + 1, run(7) + 1});
  // Node 10 is a view of x, which node 11 reads. The caller holds x from the start.
  CHECK(find(Kind::kOutput, 2).live == LiveInterval{0, run(11) + 1});
  // Node 5 makes output 0 of the graph, which is consumer 12.
  CHECK(find(Kind::kOutput, 5).live == LiveInterval{run(5), time.move_of({12, 0}) + 1});
  CHECK(find(Kind::kMoving, 12).live == LiveInterval{run(5) + 1, run(5) + 2});
  CHECK(find(Kind::kGraphOutput, 0).live == LiveInterval{time.end_of(5), time.size()});
  CHECK(find(Kind::kGraphOutput, 2).live == LiveInterval{time.end_of(11), time.size()});
}

TEST_CASE("held tensors: an output that is used on is held once, and moved from the start") {
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", {8, 4});
  const auto y = b.pointwise({x});
  const auto z = b.pointwise({y, y});
  b.output(y, AtenOutputRole::kOutput, "0");
  b.output(z, AtenOutputRole::kOutput, "1");
  const AtenGraph graph = b.make();
  const TimeLine time(graph);
  std::vector<LiveInterval> own, moved, kept;
  for (const HeldTensor& held : held_tensors(graph, 0)) {
    using Kind = HeldTensor::Kind;
    if (held.kind == Kind::kOutput && held.index == y) own.push_back(held.live);
    if (held.kind == Kind::kMoved && held.index == 3) moved.push_back(held.live);
    if (held.kind == Kind::kGraphOutput && held.index == 0) kept.push_back(held.live);
    CHECK(held.kind != Kind::kLastTaken);  // y is read twice, and the caller holds it
  }
  const std::uint32_t end = time.run_of(z) + 1;
  CHECK(own == std::vector{LiveInterval{time.run_of(y), end}});
  CHECK(moved == std::vector{LiveInterval{time.move_of({3, 0}) + 1, end}});
  CHECK(kept == std::vector{LiveInterval{end, time.size()}});
}

TEST_CASE("held tensors: a part of a storage keeps the whole until the part was used") {
  AtenBuilder b;
  const auto x = b.placeholder(AtenRole::kInput, "x", {8, 4});
  const auto y = b.pointwise({x});
  const auto part = b.node("aten.slice.Tensor", {y}, {2, 4}, {{{"R"}, {"R"}}});
  b.last().view = true;
  const auto z = b.pointwise({part});
  b.output(z, AtenOutputRole::kOutput, "0");
  const AtenGraph graph = b.make();
  const TimeLine time(graph);
  for (const HeldTensor& held : held_tensors(graph, 0)) {
    CHECK(held.kind != HeldTensor::Kind::kLastTaken);
    if (held.kind == HeldTensor::Kind::kOutput && held.index == y)
      CHECK(held.live == LiveInterval{time.run_of(y), time.run_of(z) + 1});
  }
}

TEST_CASE(
    "moving bytes: what is made, what was gathered along another dimension, what is in between") {
  using redistribution::Placement;
  using redistribution::ReduceOp;
  const AtenTensor tensor = AtenBuilder::tensor({8, 8});  // 256 bytes
  const Placement whole;
  const Placement rows = whole.with_shard(0, 0);
  const Placement columns = whole.with_shard(0, 1);
  const Placement sums = whole.with_partial(0, ReduceOp::kSum);
  const auto bytes = [&](const Placement& source, const Placement& target) {
    return moving_bytes(tensor, {2}, source, target, CollectiveBackend::kGloo);
  };
  CHECK(bytes(rows, rows) == 0);
  CHECK(bytes(whole, rows) == 128);
  CHECK(bytes(rows, whole) == 256);
  CHECK(bytes(columns, whole) == 2 * 256);
  CHECK(bytes(rows, columns) == 256 + 128);
  CHECK(bytes(columns, rows) == 2 * 256);
  CHECK(bytes(sums, whole) == 256);
  CHECK(bytes(sums, rows) == 128);
  CHECK(bytes(sums, columns) == 256 + 128);
  const redistribution::MeshShape mesh{2, 2};
  // A reduce-scatter makes 128 bytes, and then an all-gather makes 256.
  CHECK(moving_bytes(tensor, mesh, sums.with_shard(1, 0), whole, CollectiveBackend::kGloo) ==
        128 + 256);
  // The inner axis is gathered (256 bytes) before the outer one is cut (128) and the inner one is
  // cut again (64).
  CHECK(moving_bytes(tensor, mesh, whole.with_shard(1, 0), rows.with_shard(1, 0),
                     CollectiveBackend::kGloo) == 256 + 128);
}

TEST_CASE("moving bytes: an all-to-all of NCCL receives, and copies what is not in order") {
  using redistribution::Placement;
  const AtenTensor tensor = AtenBuilder::tensor({8, 8, 8});  // 2048 bytes
  const Placement whole;
  const auto bytes = [&](std::size_t from, std::size_t to) {
    return moving_bytes(tensor, {4}, whole.with_shard(0, from), whole.with_shard(0, to),
                        CollectiveBackend::kNccl);
  };
  CHECK(bytes(0, 1) == 512 + 512);        // the pieces to send are copied
  CHECK(bytes(1, 0) == 512 + 512);        // the received pieces are copied
  CHECK(bytes(1, 2) == 512 + 512 + 512);  // both are copied
  // Other moves take the same bytes with NCCL as with gloo.
  CHECK(moving_bytes(tensor, {4}, whole.with_shard(0, 1), whole, CollectiveBackend::kNccl) ==
        moving_bytes(tensor, {4}, whole.with_shard(0, 1), whole, CollectiveBackend::kGloo));
}

TEST_CASE(
    "roofline: the larger of traffic and arithmetic, at 70 %, at least 7 us; views are free") {
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
  CHECK(us(z, {whole}, {whole}) == bytes / (3.35 * 1024 * 1024 * 1024 * 1024) * 1e6 / 0.70);
  CHECK(us(t, {whole}, {whole}) == 0);
  CHECK(us(x, {whole}, {}) == 0);
  CHECK_FALSE(find_compute_device("abacus"));
  CHECK(find_compute_device("h100")->name == "H100");
}

}  // namespace shardwright::aten_graph_test
