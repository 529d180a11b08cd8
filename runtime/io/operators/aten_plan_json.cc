#include <array>
#include <string_view>

#include "runtime/io/json/json_writer.h"
#include "runtime/io/operators/aten_options_json.h"
#include "runtime/io/operators/aten_plan_json.h"

namespace shardwright {
namespace {

using namespace operators;

void write_placements(JsonWriter& json, const std::vector<MaybePlacement>& placements,
                      std::size_t num_axes) {
  json.begin_array();
  for (const MaybePlacement& placement : placements)
    write_placement(json, placement, num_axes);
  json.end_array();
}

void write_node(JsonWriter& json, const AtenNode& node, const AtenNodePlan& plan,
                std::size_t num_axes) {
  json.new_line().begin_object().member("name", node.name).key("outputs");
  write_placements(json, plan.outputs, num_axes);
  if (!node.is_placeholder()) {
    json.key("inputs");
    write_placements(json, plan.inputs, num_axes);
    json.member("compute_us", plan.compute_us).key("redistribute_us").begin_array();
    for (const double us : plan.redistribute_us)
      json.value(us);
    json.end_array();
    if (!plan.hidden_us.empty()) {
      json.key("hidden_us").begin_array();
      for (const double us : plan.hidden_us)
        json.value(us);
      json.end_array();
    }
  }
  json.end_object();
}

void write_output(JsonWriter& json, const AtenOutput& output, const AtenOutputPlan& plan,
                  std::size_t num_axes, bool overlaps) {
  json.new_line().begin_object();
  json.member("role", kOutputRoles[static_cast<std::size_t>(output.role)]);
  json.member("target", output.target).key("placement");
  write_placement(json, plan.placement, num_axes);
  json.member("redistribute_us", plan.redistribute_us);
  if (overlaps) json.member("hidden_us", plan.hidden_us);
  json.end_object();
}

void write_plan(JsonWriter& json, const AtenGraph& graph, const AtenPlan& plan) {
  const std::size_t num_axes = plan.mesh.size();
  json.new_line().key("nodes").begin_array();
  for (std::size_t n = 0; n < graph.size(); ++n)
    write_node(json, graph[n], plan.nodes[n], num_axes);
  json.new_line().end_array();
  json.new_line().key("outputs").begin_array();
  for (std::size_t o = 0; o < graph.outputs().size(); ++o)
    write_output(json, graph.outputs()[o], plan.outputs[o], num_axes, plan.overlap.any());
  json.new_line().end_array();
}

void write_figures(JsonWriter& json, const AtenPlanResult& result) {
  json.member("objective_us", result.evaluation.total_us());
  json.member("lower_bound_us", result.lower_bound_us);
  json.member("compute_us", result.evaluation.compute_us);
  json.member("redistribute_us", result.evaluation.redistribute_us);
  if (result.plan->overlap.any()) json.member("hidden_us", result.evaluation.hidden_us);
  json.member("peak_bytes", result.evaluation.peak_bytes);
  json.member("most_moved_bytes", result.evaluation.most_moved_bytes);
}

void write_mesh(JsonWriter& json, const redistribution::MeshShape& mesh) {
  json.key("mesh").begin_object().key("shape").begin_array();
  for (const std::int64_t devices : mesh)
    json.value(devices);
  json.end_array().end_object();
}

void write_shortage(JsonWriter& json, const AtenPlanResult& result) {
  if (!result.shortage) return;
  json.member("reason", shortage_text(*result.shortage));
  json.member("least_bytes", result.shortage->minimum_bytes);
  if (result.shortage->enough_bytes) json.member("enough_bytes", *result.shortage->enough_bytes);
}

}  // namespace

void write_aten_plan(const AtenGraph& graph, const PlanAtenOptions& options,
                     const AtenPlanResult& result, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().member("format", "shardwright.aten_plan").member("version", 1);
  json.new_line();
  write_mesh(json, options.mesh);
  json.new_line().member("status", name_of(result.status));
  if (result.plan) write_figures(json, result);
  json.member("memory_limit", options.memory_limit);
  write_shortage(json, result);
  if (result.plan) write_plan(json, graph, *result.plan);
  json.end_object().finish();
}

void write_aten_sweep(const AtenSweep& sweep, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object().member("devices", sweep.devices).key("meshes").begin_array();
  for (const AtenSweep::Row& row : sweep.rows) {
    json.new_line().begin_object();
    write_mesh(json, row.mesh);
    json.member("status", name_of(row.result.status));
    if (row.result.plan) write_figures(json, row.result);
    write_shortage(json, row.result);
    json.end_object();
  }
  json.new_line().end_array().end_object().finish();
}

}  // namespace shardwright
