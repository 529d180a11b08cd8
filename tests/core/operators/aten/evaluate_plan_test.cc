#include "core/operators/aten/evaluate_plan.h"

#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "core/operators/aten/held_tensors.h"
#include "tests/support/operators/aten_builder.h"

namespace shardwright::evaluate_plan_test {

namespace {

using namespace shardwright::operators;
using redistribution::Placement;

// A redistribution of any tensor takes 10 us. No move makes a tensor partial.
class TenEach final : public TransitionCosts {
 public:
  double microseconds(const AtenTensor&, const Placement& source,
                      const Placement& target) override {
    if (source == target) return 0;
    return target.has_partial() ? std::numeric_limits<double>::infinity() : 10;
  }
};

// Replicates all tensors on two devices.
AtenPlan replicated(const AtenGraph& graph, const ComputeDevice& device) {
  AtenPlan plan;
  plan.mesh = {2};
  for (const AtenNode& node : graph.nodes()) {
    AtenNodePlan& own = plan.nodes.emplace_back();
    own.outputs.assign(node.outputs.size(), Placement());
    own.inputs.assign(node.inputs.size(), Placement());
    own.redistribute_us.assign(node.inputs.size(), 0);
    own.compute_us = compute_us(graph, node, plan.mesh, own.outputs, own.inputs, device);
  }
  plan.outputs.assign(graph.outputs().size(), {});
  return plan;
}

struct Judged {
  AtenGraph graph = AtenGraph::make(test_support::two_layer_training()).value();
  ComputeDevice device = *find_compute_device("H100");
  AtenPlan plan = replicated(graph, device);
  TenEach costs;

  AtenEvaluation evaluation() { return evaluate(graph, plan, {device, costs, 2}); }
  std::string violation() {
    const AtenEvaluation evaluation = this->evaluation();
    return evaluation.violations.empty() ? "" : evaluation.violations.front();
  }
};

}  // namespace

TEST_CASE("evaluate plan: a replicated plan is valid and holds everything whole") {
  Judged judged;
  const AtenEvaluation evaluation = judged.evaluation();
  CHECK(evaluation.violations.empty());
  CHECK(evaluation.compute_us == 5 * 7);
  CHECK(evaluation.redistribute_us == 0);
  // Held are 2 parameters of 64 bytes with 2 optimizer states each, and x, tangent and outputs of
  // 128 bytes each.
  CHECK(evaluation.peak_bytes > 2 * 3 * 64 + 2 * 128);
}

TEST_CASE("evaluate plan: moved tensors cost time and memory") {
  Judged judged;
  const Placement rows = Placement().with_shard(0, 0);
  AtenNodePlan& product = judged.plan.nodes[4];
  product.inputs[0] = rows;
  product.outputs[0] = rows;
  product.redistribute_us[0] = 10;
  product.compute_us = 7;
  judged.plan.nodes[5].redistribute_us[0] = 10;
  judged.plan.nodes[6].redistribute_us[0] = 10;
  const AtenEvaluation evaluation = judged.evaluation();
  CHECK(evaluation.violations.empty());
  CHECK(evaluation.redistribute_us == 30);
  CHECK(evaluation.most_moved_bytes == 128);
}

TEST_CASE("evaluate plan: memory over time is what is held, by what it is for") {
  Judged judged;
  const TimeLine time(judged.graph);
  const std::vector<AtenMemory> moments = memory_by_moment(judged.graph, judged.plan, 2);
  REQUIRE(moments.size() == time.size());
  const AtenEvaluation evaluation = judged.evaluation();
  CHECK(moments[evaluation.peak_moment].total() == evaluation.peak_bytes);
  const std::vector<AtenMemory> memory = memory_over_time(judged.graph, judged.plan, 2);
  REQUIRE(memory.size() == num_time_points(judged.graph));
  CHECK(memory[evaluation.peak_at].total() == evaluation.peak_bytes);
  for (std::uint32_t m = 0; m < moments.size(); ++m) {
    CHECK(moments[m].total() <= memory[time.node_at(m)].total());
    CHECK(moments[m].parameters == 2 * 64);
    CHECK(moments[m].optimizer_states == 2 * 2 * 64);
    CHECK(moments[m].moved == 0);
    std::int64_t held = 0;
    for (const HeldTensor& tensor : held_tensors(judged.graph, 2)) {
      if (tensor.live.begin <= m && m < tensor.live.end)
        held += held_bytes(judged.graph, judged.plan, tensor) * tensor.copies;
    }
    CHECK(moments[m].total() == held);
  }
  CHECK(memory.front().gradients == 0);
  CHECK(memory.back().gradients == 2 * 64);
}

TEST_CASE(
    "evaluate plan: a moved input lies beside its source, and a gathered one twice meanwhile") {
  Judged judged;
  const Placement columns = Placement().with_shard(0, 1);
  // The weight of 64 bytes is sharded by columns, and the product of node 4 needs it replicated.
  judged.plan.nodes[0].outputs[0] = columns;
  judged.plan.nodes[4].redistribute_us[1] = 10;
  const std::vector<AtenMemory> moments = memory_by_moment(judged.graph, judged.plan, 2);
  const TimeLine time(judged.graph);
  CHECK(moments[time.move_of({4, 0})].moved == 0);
  CHECK(moments[time.move_of({4, 1})].moved == 2 * 64);
  CHECK(moments[time.run_of(4)].moved == 64);
  CHECK(moments[time.run_of(4)].parameters == 64 + 32);
  CHECK(moments[time.end_of(4)].moved == 0);
}

TEST_CASE("evaluate plan: every false claim and broken rule is found") {
  const Placement rows = Placement().with_shard(0, 0);
  const Placement sums = Placement().with_partial(0, redistribution::ReduceOp::kSum);
  {
    Judged judged;
    judged.plan.nodes[4].outputs[0] = rows;
    CHECK(judged.violation() == "/nodes/4: no strategy of the rule is that of axis 0");
  }
  {
    Judged judged;
    judged.plan.nodes[4].compute_us = 1;
    CHECK(judged.violation() == "/nodes/4: compute_us is not what the graph gives");
  }
  {
    Judged judged;
    judged.plan.nodes[4].redistribute_us[0] = 1;
    CHECK(judged.violation() == "/nodes/4: redistribute_us is not what the costs give");
  }
  {
    Judged judged;
    judged.plan.overlap = {0.5, 0.5};
    judged.plan.nodes[0].outputs[0] = rows;
    judged.plan.nodes[4].redistribute_us[1] = 10;
    CHECK(judged.violation() == "/nodes/4: hidden_us is not what the operators hide");
    judged.plan.nodes[4].hidden_us = {0, 5};
    // The gradient has another placement than its parameter.
    CHECK(judged.violation() == "/outputs/2: it does not lie like \"placeholder0\"");
    CHECK(judged.evaluation().total_us() == 5 * 7 + 10 - 5);
  }
  {
    Judged judged;
    judged.plan.outputs[1].placement = rows;
    judged.plan.outputs[1].redistribute_us = 10;
    CHECK(judged.violation() == "/outputs/1: it does not lie like \"placeholder1\"");
  }
  {
    Judged judged;
    judged.plan.outputs[0].placement = sums;
    CHECK(judged.violation() == "/outputs/0: an output is partial");
  }
  {
    Judged judged;
    judged.plan.mesh = {16};
    judged.plan.nodes[2].outputs[0] = rows;
    CHECK(judged.violation() == "/nodes/2: a dimension of 8 is cut into 16 parts");
  }
}

}  // namespace shardwright::evaluate_plan_test
