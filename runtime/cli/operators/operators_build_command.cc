// shardwright operators build GRAPH
#include <memory>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/commands/operators/operators_commands.h"

namespace shardwright::cli {
namespace {

struct BuildArguments {
  std::string graph_path;
  std::string mesh;
  OutputArguments output;
};

Result<commands::BuildRequest> request_of(const BuildArguments& arguments) {
  return commands::BuildRequest{commands::Input::file(arguments.graph_path), arguments.mesh,
                                arguments.output.threads};
}

}  // namespace

void add_operators_build_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<BuildArguments>();
  CLI::App& command = *operators.add_subcommand(
      "build", "Lists the strategies of every operator with what resharding between them costs");
  command
      .add_option("GRAPH", arguments->graph_path,
                  "Operator graph, or a traced PyTorch model (- = stdin)")
      ->type_name(kFile)
      ->required();
  command.add_option("--mesh", arguments->mesh, "Devices along each axis, such as 2x4")->required();
  add_output_arguments(command, arguments->output);
  add_example(
      command,
      "shardwright operators build samples/data/mlp_graph.json --mesh 2x2 -o instance.json");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
