// shardwright operators plan GRAPH and shardwright operators sweep GRAPH
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/cli/operators/aten_arguments.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/report/report_argument.h"
#include "runtime/io/operators/aten/aten_plan_json.h"
#include "runtime/operators/sweep_aten.h"
#include "runtime/report/operators/aten/aten_plan_text.h"

namespace shardwright::cli {
namespace {

using operators::AtenGraph;
using operators::SolveStatus;

struct AtenPlanArguments {
  AtenArguments common;
  std::string mesh;
  std::string report_path;
};

struct AtenSweepArguments {
  AtenArguments common;
  std::int64_t devices = 0;
  std::size_t most_axes = 3;
};

int exit_code(const AtenPlanResult& result) {
  if (result.plan) return kDone;
  return result.status == SolveStatus::kInfeasible ? kNoPlan : kStoppedByBudget;
}

int run_plan(const AtenPlanArguments& arguments) {
  const AtenArguments& common = arguments.common;
  const Log log = common.output.log();
  Result<PlanAtenOptions> options = aten_options(common, arguments.mesh);
  if (!options.ok()) return fail(options.error());
  const Result<AtenGraph> graph = load_aten_graph(common.graph_path);
  if (!graph.ok()) return fail(graph.error());
  log.info("read " + std::to_string(graph->size()) + " operators");
  const InterruptGuard interrupt;
  PlanAtenOptions asked = std::move(options).value();
  asked.limits.stop = interrupt.token();
  if (log.enabled()) {
    asked.limits.on_progress = [&](const OperatorsProgress& progress) {
      log.info(
          (progress.choice.empty() ? "nothing yet" : std::to_string(progress.objective) + " us") +
          ", at least " + std::to_string(progress.lower_bound));
    };
  }
  const Result<AtenPlanResult> result = plan_aten(*graph, asked);
  if (!result.ok()) return fail(in_file(result.error(), common.graph_path));
  const Status reported = write_report(arguments.report_path, *graph, asked, *result);
  if (!reported.ok()) return fail(reported.error());
  return emit(
      common.output, exit_code(*result),
      [&](const TextSink& sink) { write_aten_plan(*graph, asked, *result, sink); },
      [&](std::size_t width) { return aten_plan_report(*graph, asked, *result, width); });
}

int run_sweep(const AtenSweepArguments& arguments) {
  const AtenArguments& common = arguments.common;
  // Every mesh takes the place of this one.
  Result<PlanAtenOptions> options = aten_options(common, std::to_string(arguments.devices));
  if (!options.ok()) return fail(options.error());
  const Result<AtenGraph> graph = load_aten_graph(common.graph_path);
  if (!graph.ok()) return fail(graph.error());
  const InterruptGuard interrupt;
  PlanAtenOptions asked = std::move(options).value();
  asked.limits.stop = interrupt.token();
  const Result<AtenSweep> sweep = sweep_aten(*graph, arguments.devices, arguments.most_axes, asked);
  if (!sweep.ok()) return fail(in_file(sweep.error(), common.graph_path));
  return emit(
      common.output, sweep->any_fits() ? kDone : kNoPlan,
      [&](const TextSink& sink) { write_aten_sweep(*sweep, sink); },
      [&](std::size_t width) { return aten_sweep_report(*sweep, width); });
}

}  // namespace

void add_operators_plan_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<AtenPlanArguments>();
  CLI::App& command = *operators.add_subcommand(
      "plan", "Shards a traced PyTorch model over a mesh, and proves that no plan is faster");
  command.add_option("--mesh", arguments->mesh, "Devices along each axis, such as 4x2");
  add_report_argument(command, arguments->report_path);
  add_aten_arguments(command, arguments->common);
  add_example(command,
              "shardwright operators plan samples/data/traced_mlp.json --mesh 4x2 --memory 16GiB");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run_plan(*arguments); }; });
}

void add_operators_sweep_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<AtenSweepArguments>();
  CLI::App& command = *operators.add_subcommand(
      "sweep", "Plans a traced PyTorch model on every mesh of so many devices, the fastest first");
  command.add_option("--devices", arguments->devices, "Devices of the mesh")
      ->required()
      ->transform(positive_number());
  command.add_option("--axes", arguments->most_axes, "Most axes of a mesh (default: 3)")
      ->transform(whole_number(1, 8));
  add_aten_arguments(command, arguments->common);
  add_example(command, "shardwright operators sweep samples/data/traced_mlp.json --devices 8");
  command.callback(
      [arguments, &chosen] { chosen = [arguments] { return run_sweep(*arguments); }; });
}

}  // namespace shardwright::cli
