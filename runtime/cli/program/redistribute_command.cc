#include <memory>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/program/program_commands.h"
#include "runtime/commands/program/program_commands.h"

namespace shardwright::cli {
namespace {

struct RedistributeArguments {
  std::string path;
  bool front = false;
  OutputArguments output;
};

Result<commands::RedistributeRequest> request_of(const RedistributeArguments& arguments) {
  return commands::RedistributeRequest{commands::Input::file(arguments.path), arguments.front};
}

}  // namespace

void add_redistribute_command(CLI::App& program, Action& chosen) {
  auto redistribute = std::make_shared<RedistributeArguments>();
  CLI::App& command = *program.add_subcommand(
      "redistribute", "Finds the cheapest way of one tensor from one placement to another");
  command.add_option("REDISTRIBUTION", redistribute->path, "Redistribution file (- = stdin)")
      ->type_name(kFile)
      ->required();
  command.add_flag("--front", redistribute->front,
                   "Also list the paths that no other one beats in both time and memory");
  add_report_argument(command, redistribute->output);
  add_output_arguments(command, redistribute->output);
  add_example(command, "shardwright program redistribute samples/data/redistribution.json");
  command.callback([redistribute, &chosen] {
    chosen = [redistribute] { return respond(redistribute->output, request_of(*redistribute)); };
  });
}

}  // namespace shardwright::cli
