// shardwright diff PLAN_A PLAN_B
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/commands/embedding/embedding_commands.h"

namespace shardwright::cli {
namespace {

struct DiffArguments {
  std::string from_path, to_path;
  ProblemArguments topology;  // of both problems
  OutputArguments output;
};

Result<commands::DiffRequest> request_of(const DiffArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(ProblemOverrides overrides, overrides_of(arguments.topology));
  return commands::DiffRequest{commands::Input::file(arguments.from_path),
                               commands::Input::file(arguments.to_path), std::move(overrides)};
}

}  // namespace

void add_diff_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App& command =
      *app.add_subcommand("diff", "Says what differs between two plans, or between two problems");
  command.add_option("PLAN_A", arguments->from_path, "Plan or problem before (- = stdin)")
      ->type_name(kFile)
      ->required();
  command.add_option("PLAN_B", arguments->to_path, "Plan or problem after (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_topology_arguments(command, arguments->topology);
  add_output_arguments(command, arguments->output);
  add_report_argument(command, arguments->output);
  add_example(command,
              "shardwright diff plan.json new_plan.json --json\n"
              "  shardwright diff my_tables.json new_tables.json --ranks 16");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
