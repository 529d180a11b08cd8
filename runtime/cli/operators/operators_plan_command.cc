// shardwright operators plan GRAPH and shardwright operators sweep GRAPH
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/operators/aten_arguments.h"
#include "runtime/cli/operators/operators_commands.h"

namespace shardwright::cli {
namespace {

struct AtenPlanArguments {
  AtenArguments common;
  std::string mesh;
};

struct AtenSweepArguments {
  AtenArguments common;
  std::int64_t devices = 0;
  std::size_t most_axes = 3;
};

Result<commands::AtenPlanRequest> request_of(const AtenPlanArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::AtenOverrides overrides, aten_overrides(arguments.common));
  if (!arguments.mesh.empty()) overrides.mesh = arguments.mesh;
  return commands::AtenPlanRequest{commands::Input::file(arguments.common.graph_path),
                                   commands::Input::file(arguments.common.options_path),
                                   std::move(overrides)};
}

Result<commands::AtenSweepRequest> request_of(const AtenSweepArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::AtenOverrides overrides, aten_overrides(arguments.common));
  return commands::AtenSweepRequest{commands::Input::file(arguments.common.graph_path),
                                    commands::Input::file(arguments.common.options_path),
                                    std::move(overrides), arguments.devices, arguments.most_axes};
}

}  // namespace

void add_operators_plan_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<AtenPlanArguments>();
  CLI::App& command = *operators.add_subcommand(
      "plan", "Shards a traced PyTorch model over a mesh, and proves that no plan is faster");
  command.add_option("--mesh", arguments->mesh, "Devices along each axis, such as 4x2");
  add_report_argument(command, arguments->common.output);
  add_aten_arguments(command, arguments->common);
  add_example(command,
              "shardwright operators plan samples/data/traced_mlp.json --mesh 4x2 --memory 16GiB");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->common.output, request_of(*arguments)); };
  });
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
  add_report_argument(command, arguments->common.output);
  add_example(command, "shardwright operators sweep samples/data/traced_mlp.json --devices 8");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->common.output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
