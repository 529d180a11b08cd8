#include "runtime/report/operators/aten/aten_plan_report.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/operators/aten/held_tensors.h"
#include "runtime/report/operators/aten/aten_words.h"
#include "runtime/report/operators/aten/folded_path.h"

namespace shardwright {
namespace {

using namespace operators;

// When every time point begins: operators run one after the other, each after its inputs moved.
// What leaves the graph moves after the operator that makes it. What is hidden takes no time.
std::vector<double> begins_us(const AtenGraph& graph, const AtenPlan& plan) {
  std::vector<double> us(num_time_points(graph) + 1, 0);
  for (std::size_t n = 0; n < graph.size(); ++n) {
    const std::vector<double>& moves = plan.nodes[n].redistribute_us;
    const std::vector<double>& hidden = plan.nodes[n].hidden_us;
    us[n + 1] = plan.nodes[n].compute_us + std::accumulate(moves.begin(), moves.end(), 0.0) -
                std::accumulate(hidden.begin(), hidden.end(), 0.0);
  }
  for (std::size_t o = 0; o < graph.outputs().size(); ++o)
    us[graph.outputs()[o].value.node + 1] +=
        plan.outputs[o].redistribute_us - plan.outputs[o].hidden_us;
  std::partial_sum(us.begin(), us.end(), us.begin());
  us.pop_back();
  return us;
}

std::vector<ReportedMemory> reported_memory(const std::vector<AtenMemory>& memory,
                                            const std::vector<double>& begins) {
  const std::size_t most = AtenPlanReport::kMostMemoryPoints;
  const std::size_t together = (memory.size() + most - 1) / most;
  std::vector<ReportedMemory> points;
  for (std::size_t t = 0; t < memory.size(); t += together) {
    std::size_t fullest = t;
    for (std::size_t i = t; i < std::min(t + together, memory.size()); ++i) {
      if (memory[i].total() > memory[fullest].total()) fullest = i;
    }
    points.push_back({begins[t], memory[fullest], static_cast<std::uint32_t>(fullest)});
  }
  return points;
}

std::optional<double> backward_at(const AtenGraph& graph, const std::vector<double>& begins) {
  for (std::size_t n = 0; n < graph.size(); ++n) {
    if (graph[n].backward) return begins[n];
  }
  return std::nullopt;
}

// An output of the graph, or the copy that was moved to be one.
void describe_output(const AtenGraph& graph, const AtenPlan& plan, std::size_t output,
                     ReportedHeld& row) {
  row.name = graph.outputs()[output].target;
  row.kind = graph.outputs()[output].role == AtenOutputRole::kGradient ? "gradient" : "output";
  row.whole = graph.tensor(graph.outputs()[output].value);
  row.placement = plan.outputs[output].placement;
}

// A held tensor in the words of the report, without its bytes.
ReportedHeld described(const AtenGraph& graph, const AtenPlan& plan, const HeldTensor& held) {
  ReportedHeld row;
  if (held.kind == HeldTensor::Kind::kGraphOutput) {
    describe_output(graph, plan, held.index, row);
    return row;
  }
  if (held.is_taken() && held.index >= graph.size()) {
    describe_output(graph, plan, held.index - graph.size(), row);
    if (held.kind == HeldTensor::Kind::kMoving) row.kind = "moving";
    return row;
  }
  const AtenNode& node = graph[held.index];
  row.name = node.is_placeholder()
                 ? node.target
                 : std::string(operator_text(node)) + " in " + std::string(module_text(node));
  if (held.is_taken() || held.kind == HeldTensor::Kind::kLastTaken) {
    row.kind = held.kind == HeldTensor::Kind::kMoving ? "moving" : "moved copy";
    const bool moves = held.is_taken() && !(node.view && held.kind == HeldTensor::Kind::kMoved);
    if (!moves) row.kind = "activation";
    row.whole = graph.tensor(node.inputs[held.tensor]);
    row.placement = plan.nodes[held.index].inputs[held.tensor];
    return row;
  }
  row.kind = node.is_placeholder() ? std::string(role_text(node.role)) : "activation";
  row.whole = *node.outputs[held.tensor];
  row.placement = plan.nodes[held.index].outputs[held.tensor];
  return row;
}

std::vector<ReportedHeld> held_at(const AtenGraph& graph, const AtenPlan& plan,
                                  std::int64_t optimizer_states, std::uint32_t moment) {
  FoldedRows<ReportedHeld> folded;
  for (const HeldTensor& held : held_tensors(graph, optimizer_states)) {
    if (held.live.begin > moment || held.live.end <= moment) continue;
    ReportedHeld row = described(graph, plan, held);
    row.bytes = held_bytes(graph, plan, held);
    if (row.bytes == 0) continue;
    folded.add(row.name, row);
    if (held.copies == 1) continue;
    row.kind = "optimizer states";
    row.bytes *= held.copies - 1;
    folded.add(row.name, row);
  }
  std::vector<ReportedHeld> rows;
  folded.for_each([&](const std::string& name, const ReportedHeld& row, std::size_t count) {
    rows.push_back(row);
    rows.back().name = name;
    rows.back().count = count;
  });
  std::stable_sort(rows.begin(), rows.end(), [](const ReportedHeld& a, const ReportedHeld& b) {
    return a.bytes * static_cast<std::int64_t>(a.count) >
           b.bytes * static_cast<std::int64_t>(b.count);
  });
  return rows;
}

}  // namespace

AtenPlanReport make_aten_plan_report(const AtenGraph& graph, const PlanAtenOptions& options,
                                     const AtenPlanResult& result,
                                     std::span<const AtenMove> moves) {
  AtenPlanReport report;
  if (!result.plan) return report;
  const AtenPlan& plan = *result.plan;
  report.model = make_module_tree(graph, plan, moves);
  report.moves = moved_tensors(graph, plan, moves);
  const std::vector<double> begins = begins_us(graph, plan);
  report.memory = reported_memory(memory_over_time(graph, plan, options.optimizer_states), begins);
  report.backward_at_us = backward_at(graph, begins);
  report.held = held_at(graph, plan, options.optimizer_states, result.evaluation.peak_moment);
  report.held_rows = report.held.size();
  if (report.held.size() > AtenPlanReport::kMostHeld) report.held.resize(AtenPlanReport::kMostHeld);
  return report;
}

}  // namespace shardwright
