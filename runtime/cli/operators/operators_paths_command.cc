// shardwright operators paths FILE
#include <memory>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/commands/operators/operators_commands.h"

namespace shardwright::cli {
namespace {

using operators::PathCost;

struct PathsArguments {
  std::string path;
  std::string cost = "compat";
  OutputArguments output;
};

Result<commands::PathsRequest> request_of(const PathsArguments& arguments) {
  const PathCost cost = arguments.cost == "exact" ? PathCost::kExact
                        : arguments.cost == "sum" ? PathCost::kSum
                                                  : PathCost::kCompat;
  return commands::PathsRequest{commands::Input::file(arguments.path), cost};
}

}  // namespace

void add_operators_paths_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<PathsArguments>();
  CLI::App& command = *operators.add_subcommand(
      "paths", "Finds how tensors are converted from one sharding to another, and the cost");
  command
      .add_option("FILE", arguments->path,
                  "List of meshes, tensor shapes and pairs of sharding specs (- = stdin)")
      ->type_name(kFile)
      ->required();
  command
      .add_option("--cost", arguments->cost,
                  "compat = ColossalAI's paths and costs, sum = its paths, costs added up once, "
                  "exact = the cheapest paths")
      ->type_name("compat|sum|exact")
      ->check(one_of({"compat", "sum", "exact"}));
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright operators paths samples/data/paths.json --cost exact");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
