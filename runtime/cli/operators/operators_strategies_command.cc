// shardwright operators strategies FILE
#include <memory>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/operators/operators_commands.h"
#include "runtime/commands/operators/operators_commands.h"

namespace shardwright::cli {
namespace {

struct StrategiesArguments {
  std::string path;
  OutputArguments output;
};

Result<commands::StrategiesRequest> request_of(const StrategiesArguments& arguments) {
  return commands::StrategiesRequest{commands::Input::file(arguments.path)};
}

}  // namespace

void add_operators_strategies_command(CLI::App& operators, Action& chosen) {
  auto arguments = std::make_shared<StrategiesArguments>();
  CLI::App& command = *operators.add_subcommand(
      "strategies", "Lists the ways in which single operators can be sharded, with their costs");
  command
      .add_option("FILE", arguments->path,
                  "Operators with their mesh, operands and attributes (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright operators strategies samples/data/linear.json");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
