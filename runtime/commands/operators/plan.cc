// shardwright operators plan and shardwright operators sweep
#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/commands/operators/operators_commands.h"
#include "runtime/commands/pages.h"
#include "runtime/io/json/json_document.h"
#include "runtime/io/operators/aten/aten_graph_json.h"
#include "runtime/io/operators/aten/aten_options_json.h"
#include "runtime/io/operators/aten/aten_plan_json.h"
#include "runtime/operators/build.h"
#include "runtime/operators/sweep_aten.h"
#include "runtime/report/operators/aten/aten_plan_text.h"

namespace shardwright::commands {
namespace {

using operators::AtenGraph;
using operators::SolveStatus;

Result<redistribution::MeshShape> mesh_of(std::string_view text) {
  const auto mesh = parse_mesh(text);
  if (!mesh.ok()) return invalid_input("mesh", mesh.error().message);
  redistribution::MeshShape shape;
  for (std::size_t axis = 0; axis < (*mesh)->num_axes(); ++axis)
    shape.push_back((*mesh)->size(axis));
  return shape;
}

void override_limits(const OperatorsOptions& given, OperatorsOptions& limits) {
  if (given.time_limit_s) limits.time_limit_s = given.time_limit_s;
  if (given.work_limit) limits.work_limit = given.work_limit;
  if (given.seed != 0) limits.seed = given.seed;
  if (given.threads != 0) limits.threads = given.threads;
}

// The text of a file of options; empty without one.
Result<std::string> text_of(const Input& file, const Watch& watch) {
  if (!file.given()) return std::string();
  return file.read(watch.read);
}

// The options of the file's text, with the overrides in their place.
Result<PlanAtenOptions> options_of(const Input& file, const std::string& text,
                                   const AtenOverrides& overrides) {
  PlanAtenOptions options;
  if (overrides.mesh) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(options.mesh, mesh_of(*overrides.mesh));
  }
  if (file.given()) {
    Result<PlanAtenOptions> read = read_aten_options(text, options.mesh);
    if (!read.ok()) return file.locate(read.error());
    options = std::move(read).value();
  }
  if (options.mesh.empty()) return invalid_input("mesh", "is needed, such as {mesh} 4x2");
  if (overrides.memory) options.memory_limit = overrides.memory;
  options.device = overrides.device.value_or(options.device);
  options.optimizer_states = overrides.optimizer_states.value_or(options.optimizer_states);
  options.redistribution = overrides.redistribution.value_or(options.redistribution);
  options.blocks = overrides.blocks.value_or(options.blocks);
  if (overrides.overlap) options.overlap = {*overrides.overlap, *overrides.overlap};
  override_limits(overrides.limits, options.limits);
  return options;
}

bool has_member(const std::string& text, std::string_view key) {
  const Result<JsonDocument> document = JsonDocument::parse(text);
  return document.ok() && document->root().find(key).has_value();
}

Result<AtenGraph> load_graph(const Input& input, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, input.read(watch.read));
  Result<AtenGraph> graph = read_aten_graph(text);
  if (!graph.ok()) return input.locate(graph.error());
  return graph;
}

PlanAtenOptions watched_plan(PlanAtenOptions options, const Watch& watch) {
  options.limits.stop = watch.begin();
  options.limits.on_progress = [on_operators = watch.on_operators,
                                log = watch.log](const OperatorsProgress& progress) {
    if (on_operators) on_operators(progress);
    if (!log.enabled()) return;
    log.info(
        (progress.choice.empty() ? "nothing yet" : std::to_string(progress.objective) + " us") +
        ", at least " + std::to_string(progress.lower_bound));
  };
  return options;
}

// What is wrong with an option is in the flag that gave it, or in the file of options.
Error located(Error error, const Input& graph, const Input& file, const AtenOverrides& overrides) {
  const std::array<std::pair<std::string_view, std::string_view>, 11> options{{
      {"/devices", "devices"},
      {"/axes", "axes"},
      {"/mesh", overrides.mesh ? "mesh" : ""},
      {"/device", overrides.device ? "device" : ""},
      {"/collectives", ""},
      {"/memory", overrides.memory ? "memory" : ""},
      {"threads", "threads"},
      {"/optimizer_states", overrides.optimizer_states ? "optimizer_states" : ""},
      {"/operator_times", ""},
      {"/overlap", overrides.overlap ? "overlap" : ""},
      {"/placements", ""},
  }};
  for (const auto& [place, flag] : options) {
    if (!error.where.starts_with(place)) continue;  // "/devices" comes before "/device"
    if (!flag.empty()) {
      error.where = flag;
      return error;
    }
    return file.given() ? file.locate(std::move(error)) : error;
  }
  return graph.locate(std::move(error));
}

Outcome outcome_of(const AtenPlanResult& result) {
  if (result.plan) return Outcome::kDone;
  return result.status == SolveStatus::kInfeasible ? Outcome::kNoPlan : Outcome::kStopped;
}

}  // namespace

Result<Answer> answer(const AtenPlanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, text_of(request.options, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanAtenOptions asked,
                               options_of(request.options, text, request.overrides));
  SHARDWRIGHT_ASSIGN_OR_RETURN(AtenGraph read, load_graph(request.graph, watch));
  watch.log.info("read " + std::to_string(read.size()) + " operators");
  asked = watched_plan(std::move(asked), watch);
  Result<AtenPlanResult> planned = plan_aten(read, asked);
  if (!planned.ok())
    return located(planned.error(), request.graph, request.options, request.overrides);
  // The caller's function must not outlive the search.
  asked.limits.on_progress = nullptr;
  const auto graph = std::make_shared<const AtenGraph>(std::move(read));
  const auto options = std::make_shared<const PlanAtenOptions>(std::move(asked));
  const auto result = std::make_shared<const AtenPlanResult>(std::move(planned).value());
  Answer answer;
  answer.outcome = outcome_of(*result);
  answer.write_json = [graph, options, result](const TextSink& sink) {
    write_aten_plan(*graph, *options, *result, sink);
  };
  answer.text = [graph, options, result](const TextForm& form) {
    return aten_plan_report(*graph, *options, *result, form.width);
  };
  answer.write_page = page_of(graph, options, result);
  return answer;
}

Result<Answer> answer(const AtenSweepRequest& request, const Watch& watch) {
  AtenOverrides overrides = request.overrides;
  overrides.mesh = "1";  // every mesh takes the place of this one
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, text_of(request.options, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanAtenOptions asked, options_of(request.options, text, overrides));
  SHARDWRIGHT_ASSIGN_OR_RETURN(AtenGraph read, load_graph(request.graph, watch));
  asked = watched_plan(std::move(asked), watch);
  Result<AtenSweep> swept = sweep_aten(read, request.devices, request.most_axes, asked);
  if (!swept.ok()) return located(swept.error(), request.graph, request.options, overrides);
  asked.limits.on_progress = nullptr;
  const auto graph = std::make_shared<const AtenGraph>(std::move(read));
  const auto options = std::make_shared<const PlanAtenOptions>(std::move(asked));
  const auto sweep = std::make_shared<const AtenSweep>(std::move(swept).value());
  Answer answer;
  if (request.options.given() && has_member(text, "mesh")) {
    answer.warnings.push_back(
        request.options
            .locate(invalid_input("/mesh",
                                  "is not used: a sweep tries every mesh of --devices; leave it "
                                  "out, or use `operators plan`"))
            .to_string());
  }
  answer.outcome = sweep->any_fits() ? Outcome::kDone : Outcome::kNoPlan;
  answer.write_json = [sweep](const TextSink& sink) { write_aten_sweep(*sweep, sink); };
  answer.text = [sweep](const TextForm& form) { return aten_sweep_report(*sweep, form.width); };
  answer.write_page = page_of(graph, options, sweep);
  return answer;
}

}  // namespace shardwright::commands
