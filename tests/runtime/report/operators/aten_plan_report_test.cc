// The numbers on the page of a plan, compared with the plan.
#include "runtime/report/operators/aten_plan_report.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include "tests/support/operators/aten_builder.h"

namespace shardwright::aten_plan_report_test {

using namespace shardwright;
using namespace shardwright::operators;
using test_support::AtenBuilder;

namespace {

// Products of x and the weights of `blocks` modules "layers.<number>.mlp", and one product outside
// of modules.
AtenGraph chain(int blocks) {
  AtenBuilder b;
  std::vector<std::uint32_t> weights;
  for (int block = 0; block < blocks; ++block) {
    weights.push_back(b.placeholder(AtenRole::kParameter,
                                    "layers." + std::to_string(block) + ".mlp.weight", {64, 64}));
  }
  weights.push_back(b.placeholder(AtenRole::kParameter, "head.weight", {64, 64}));
  auto x = b.placeholder(AtenRole::kInput, "x", {64, 64});
  for (int block = 0; block < blocks; ++block) {
    x = b.mm(x, weights[static_cast<std::size_t>(block)]);
    b.last().module = "layers." + std::to_string(block) + ".mlp";
  }
  x = b.mm(x, weights.back());
  b.output(x, AtenOutputRole::kOutput, "0");
  return b.make();
}

struct Reported {
  explicit Reported(AtenGraph planned, redistribution::MeshShape mesh = {4},
                    std::vector<AtenConstraint> constraints = {})
      : graph(std::move(planned)) {
    options.mesh = std::move(mesh);
    options.constraints = std::move(constraints);
    options.blocks = BlockSharing::kEqual;
    auto planned_result = plan_aten(graph, options);
    REQUIRE_MESSAGE(planned_result.ok(), planned_result.error().to_string());
    result = std::move(planned_result).value();
    REQUIRE(result.plan);
    moves = aten_moves(graph, options, *result.plan).value();
    report = make_aten_plan_report(graph, options, result, moves);
  }

  AtenGraph graph;
  PlanAtenOptions options;
  AtenPlanResult result;
  std::vector<AtenMove> moves;
  AtenPlanReport report;
};

// Returns the number of operators of a module and the modules in it.
std::size_t num_operators(const ReportedModule& module) {
  std::size_t count = module.operators.size();
  for (const ReportedModule& inner : module.modules)
    count += num_operators(inner);
  return count * std::max<std::size_t>(module.numbers.size(), 1);
}

}  // namespace

TEST_CASE("aten plan report: the modules add up to the plan") {
  const Reported reported(chain(5));
  const ModuleCosts& costs = reported.report.model.costs;
  CHECK(costs.operators == 6);
  CHECK(num_operators(reported.report.model) == 6);
  CHECK(costs.forward_us + costs.backward_us ==
        doctest::Approx(reported.result.evaluation.compute_us));
  CHECK(costs.move_us == doctest::Approx(reported.result.evaluation.redistribute_us));
  std::int64_t sent = 0;
  for (const AtenMove& move : reported.moves)
    sent += move.sent_bytes;
  CHECK(costs.sent_bytes == sent);
  CHECK(costs.moves == reported.moves.size());
}

TEST_CASE("aten plan report: equal blocks are one row, tensors are in their modules") {
  const Reported reported(chain(5));
  const ReportedModule& model = reported.report.model;
  REQUIRE(model.modules.size() == 1);
  CHECK(model.operators.size() == 1);  // the product outside of modules
  // The input, and the weight of the product outside of modules.
  CHECK(model.tensors.size() == 2);
  const ReportedModule& layers = model.modules.front();
  CHECK(layers.name == "layers");
  std::size_t blocks = 0;
  for (const ReportedModule& block : layers.modules) {
    blocks += std::max<std::size_t>(block.numbers.size(), 1);
    if (block.numbers.empty()) continue;
    REQUIRE(block.modules.size() == 1);
    CHECK(block.modules.front().name == "mlp");
    CHECK(block.modules.front().tensors.size() == 1);
  }
  CHECK(blocks == 5);
  CHECK(layers.modules.size() < 5);
}

TEST_CASE("aten plan report: memory over time has the peak, and time goes on") {
  const Reported reported(AtenGraph::make(test_support::two_layer_training(64, 64)).value());
  const std::vector<ReportedMemory>& memory = reported.report.memory;
  REQUIRE(memory.size() == num_time_points(reported.graph));
  bool has_peak = false;
  for (std::size_t p = 0; p < memory.size(); ++p) {
    has_peak |= memory[p].memory.total() == reported.result.evaluation.peak_bytes &&
                memory[p].time_point == reported.result.evaluation.peak_at;
    if (p > 0) CHECK(memory[p].us >= memory[p - 1].us);
  }
  CHECK(has_peak);
  CHECK(memory.back().us == doctest::Approx(reported.result.evaluation.total_us()));
  std::int64_t held = 0;
  for (const ReportedHeld& row : reported.report.held)
    held += row.bytes * static_cast<std::int64_t>(row.count);
  CHECK(held == reported.result.evaluation.peak_bytes);
}

TEST_CASE("aten plan report: long graphs have a point for several operators, the fullest one") {
  const Reported reported(chain(3000), {2});
  const std::vector<ReportedMemory>& memory = reported.report.memory;
  CHECK(memory.size() <= AtenPlanReport::kMostMemoryPoints);
  bool has_peak = false;
  for (const ReportedMemory& point : memory)
    has_peak |= point.time_point == reported.result.evaluation.peak_at;
  CHECK(has_peak);
}

TEST_CASE("aten plan report: every move is in a row") {
  const redistribution::Placement columns = redistribution::Placement().with_shard(0, 1);
  const Reported reported(AtenGraph::make(test_support::two_layer_training(1024, 512)).value(), {4},
                          {{AtenConstraint::Of::kInput, "x", columns},
                           {AtenConstraint::Of::kParameter, "layers.0.weight", columns},
                           {AtenConstraint::Of::kParameter, "layers.1.weight", columns}});
  std::size_t count = 0;
  double us = 0;
  double before = std::numeric_limits<double>::infinity();
  for (const MovedTensors& row : reported.report.moves) {
    count += row.count;
    const double all = row.us * static_cast<double>(row.count);
    us += all;
    CHECK(all <= before);
    before = all;
    CHECK(row.source != row.target);
    CHECK_FALSE(row.path.steps.empty());
  }
  CHECK(count > 0);
  CHECK(count == reported.moves.size());
  CHECK(us == doctest::Approx(reported.result.evaluation.redistribute_us));
}

}  // namespace shardwright::aten_plan_report_test
