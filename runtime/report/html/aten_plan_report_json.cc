#include "runtime/report/html/aten_plan_report_json.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "core/redistribution/placement/move.h"
#include "core/version.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/report/html/answer_json.h"
#include "runtime/report/operators/aten_plan_text.h"
#include "runtime/report/text/format.h"

namespace shardwright {
namespace {

using namespace operators;

constexpr std::size_t kMostOperators = 20000;  // most on a page, equal blocks counted once

// Returns shape and type, such as "64x32 bfloat16".
std::string tensor_text(const AtenTensor& tensor) {
  return shape_text(tensor) + " " + std::string(type_text(tensor));
}

std::size_t num_listed(const ReportedModule& module) {
  std::size_t count = module.operators.size();
  for (const ReportedModule& inner : module.modules)
    count += num_listed(inner);
  return count;
}

// Writes one report.
// Thread safety: one thread at a time.
class AtenPlanWriter {
 public:
  AtenPlanWriter(const AtenGraph& graph, const PlanAtenOptions& options,
                 const AtenPlanResult& result, const AtenPlanReport& report, JsonWriter& json)
      : graph_(graph), options_(options), result_(result), report_(report), json_(json) {}

  void write() {
    json_.begin_object()
        .member("format", "shardwright.aten_plan.report/1")
        .member("version", library_version())
        .new_line();
    write_request();
    write_outcome();
    if (result_.plan) write_plan();
    json_.end_object().finish();
  }

 private:
  std::string placed(const MaybePlacement& placement) const {
    return placement_text(placement, options_.mesh.size());
  }

  void write_request() {
    json_.member("model", graph_.model()).member("nodes", graph_.size());
    json_.member("mesh", mesh_text(options_.mesh)).member("device", options_.device);
    json_.member("memory_limit", options_.memory_limit);
    json_.member("optimizer_states", options_.optimizer_states);
    json_.member("estimated_moves", options_.redistribution == RedistributionChoice::kAutoParallel);
    json_.new_line();
  }

  void write_outcome() {
    json_.member("status", name_of(result_.status)).member("outcome", outcome_text(result_));
    json_.member("lower_bound", result_.lower_bound_us);
    json_.member("without_limit", result_.without_limit_us);
    json_.member("strategies", result_.counters.strategies);
    json_.member("threads", result_.threads).member("planned_s", result_.total_s);
    json_.new_line().key("least_bytes");
    result_.shortage ? json_.value(result_.shortage->minimum_bytes) : json_.null();
    json_.member("has_plan", result_.plan.has_value()).new_line();
  }

  void write_plan() {
    const AtenEvaluation& evaluation = result_.evaluation;
    json_.member("compute", evaluation.compute_us).member("arithmetic", evaluation.arithmetic_us);
    json_.member("moving", evaluation.redistribute_us).member("hidden", evaluation.hidden_us);
    json_.member("peak", evaluation.peak_bytes);
    json_.member("most_moved", evaluation.most_moved_bytes).new_line();
    lists_operators_ = num_listed(report_.model) <= kMostOperators;
    json_.member("lists_operators", lists_operators_);
    json_.key("modules");
    write_module(report_.model);
    json_.new_line();
    write_moves();
    write_memory();
    write_held();
  }

  void write_module(const ReportedModule& module) {
    constexpr std::size_t kWidth = 40;
    json_.new_line().begin_object();
    json_.member("name",
                 module.numbers.empty() ? module.name : format_ranges(module.numbers, kWidth));
    json_.member("count", module.numbers.empty() ? 1 : module.numbers.size());
    const ModuleCosts& costs = module.costs;
    json_.key("costs").begin_array().value(costs.operators).value(costs.forward_us);
    json_.value(costs.backward_us).value(costs.move_us).value(costs.moves);
    json_.value(costs.sent_bytes).value(costs.parameter_bytes).end_array();
    json_.key("tensors").begin_array();
    for (const std::uint32_t n : module.tensors)
      write_tensor(graph_[n], result_.plan->nodes[n], module.path_length);
    json_.end_array().key("operators").begin_array();
    for (const std::uint32_t n : module.operators) {
      if (lists_operators_) write_operator(graph_[n], result_.plan->nodes[n]);
    }
    json_.end_array().member("output", last_output(module)).key("modules").begin_array();
    for (const ReportedModule& inner : module.modules)
      write_module(inner);
    json_.end_array().end_object();
  }

  // Writes a tensor. Its name is the part after the module's path.
  void write_tensor(const AtenNode& node, const AtenNodePlan& plan, std::size_t path_length) {
    const AtenTensor& tensor = *node.outputs[0];
    const bool in_module = node.role == AtenRole::kParameter || node.role == AtenRole::kBuffer;
    const std::size_t begin = in_module && path_length > 0 ? path_length + 1 : 0;
    json_.begin_array().value(node.target.substr(std::min(begin, node.target.size())));
    json_.value(role_text(node.role)).value(tensor_text(tensor)).value(placed(plan.outputs[0]));
    json_.value(
        local_bytes(tensor, options_.mesh, plan.outputs[0].value_or(redistribution::Placement())));
    json_.end_array();
  }

  void write_operator(const AtenNode& node, const AtenNodePlan& plan) {
    json_.begin_array().value(operator_text(node)).value(node.backward);
    const bool has_tensor = !node.outputs.empty() && node.outputs[0];
    json_.value(has_tensor ? tensor_text(*node.outputs[0]) : std::string());
    json_.value(has_tensor ? placed(plan.outputs[0]) : std::string()).value(plan.compute_us);
    json_.value(std::accumulate(plan.redistribute_us.begin(), plan.redistribute_us.end(), 0.0));
    json_.end_array();
  }

  // Returns the placement of the last forward operator's output. The module's own operators take
  // precedence over those of inner modules.
  std::string last_output(const ReportedModule& module) const {
    for (auto n = module.operators.rbegin(); n != module.operators.rend(); ++n) {
      const AtenNodePlan& plan = result_.plan->nodes[*n];
      if (!graph_[*n].backward && !plan.outputs.empty()) return placed(plan.outputs[0]);
    }
    for (auto inner = module.modules.rbegin(); inner != module.modules.rend(); ++inner) {
      std::string text = last_output(*inner);
      if (!text.empty()) return text;
    }
    return "";
  }

  void write_moves() {
    json_.key("moves").begin_array();
    for (const MovedTensors& row : report_.moves) {
      json_.new_line().begin_object();
      json_.member("tensor", row.tensor).member("module", row.module);
      json_.member("consumer", row.consumer).member("consumer_module", row.consumer_module);
      json_.member("backward", row.backward).member("shape", tensor_text(row.whole));
      json_.member("from", placed(row.source)).member("to", placed(row.target));
      json_.key("steps").begin_array();
      for (const redistribution::PathStep& step : row.path.steps) {
        json_.begin_array().value(redistribution::to_name(step.move.kind));
        json_.value(redistribution::to_text(step.move)).value(step.cost).end_array();
      }
      json_.end_array().member("us", row.us).member("sent", row.sent_bytes);
      json_.member("count", row.count).end_object();
    }
    json_.end_array().new_line();
  }

  void write_memory() {
    json_.key("memory").begin_array();
    for (const ReportedMemory& point : report_.memory) {
      const AtenMemory& memory = point.memory;
      json_.begin_array().value(point.us).value(memory.parameters);
      json_.value(memory.optimizer_states).value(memory.gradients).value(memory.inputs);
      json_.value(memory.activations).value(memory.moved).end_array();
    }
    const std::uint32_t peak = result_.evaluation.peak_at;
    json_.end_array().new_line().member("backward_at", report_.backward_at_us);
    json_.member("peak_point", peak_point()).member("peak_name", time_point_text(graph_, peak));
    json_.member("peak_operator", peak < graph_.size() ? operator_text(graph_[peak]) : "");
    json_.member("peak_module", peak < graph_.size() ? graph_[peak].module : "");
    json_.member("peak_line", peak < graph_.size() ? graph_[peak].line : "").new_line();
  }

  std::size_t peak_point() const {
    for (std::size_t p = 0; p < report_.memory.size(); ++p) {
      if (report_.memory[p].time_point == result_.evaluation.peak_at) return p;
    }
    return 0;
  }

  void write_held() {
    json_.member("held_rows", report_.held_rows).key("held").begin_array();
    for (const ReportedHeld& row : report_.held) {
      json_.new_line().begin_array().value(row.name).value(row.kind).value(tensor_text(row.whole));
      json_.value(placed(row.placement)).value(row.bytes).value(row.count).end_array();
    }
    json_.end_array();
  }

  const AtenGraph& graph_;
  const PlanAtenOptions& options_;
  const AtenPlanResult& result_;
  const AtenPlanReport& report_;
  JsonWriter& json_;
  bool lists_operators_ = true;
};

}  // namespace

void write_aten_plan_report(const AtenGraph& graph, const PlanAtenOptions& options,
                            const AtenPlanResult& result, const AtenPlanReport& report,
                            const TextSink& sink) {
  JsonWriter json(without_markup(sink));
  AtenPlanWriter(graph, options, result, report, json).write();
}

}  // namespace shardwright
