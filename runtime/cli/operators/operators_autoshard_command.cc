// shardwright operators autoshard GRAPH
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/commands/operators/operators_commands.h"

namespace shardwright::cli {
namespace {

using operators::autoshard::CostModel;

struct AutoshardArguments {
  std::string graph_path;
  std::optional<std::int64_t> devices;
  std::optional<std::string> cost_model;
  bool iterations = false;
  OutputArguments output;
};

Result<commands::AutoshardRequest> request_of(const AutoshardArguments& arguments) {
  commands::AutoshardRequest request;
  request.graph = commands::Input::file(arguments.graph_path);
  request.devices = arguments.devices;
  if (arguments.cost_model)
    request.cost_model = *arguments.cost_model == "v1" ? CostModel::kV1 : CostModel::kV2;
  request.iterations = arguments.iterations;
  request.threads = arguments.output.threads;
  return request;
}

}  // namespace

void add_operators_autoshard_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<AutoshardArguments>();
  CLI::App& command = *operators.add_subcommand(
      "autoshard", "Shards the tensors of a graph over devices at the least printed cost");
  command.add_option("GRAPH", arguments->graph_path, "A file with a `graph`, or - for input")
      ->type_name(kFile)
      ->required();
  command.add_option("--devices", arguments->devices, "Number of devices (default: the file's)")
      ->transform(positive_number())
      ->type_name("P");
  command
      .add_option("--cost-model", arguments->cost_model,
                  "Generation of the cost model (default: the file's, else v2)")
      ->type_name("v1|v2")
      ->check(one_of({"v1", "v2"}));
  command.add_flag("--iterations", arguments->iterations,
                   "Prints the cost table of every improvement");
  add_output_arguments(command, arguments->output);
  add_example(command,
              "shardwright operators autoshard samples/data/autoshard_mlp.json --devices 8");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
