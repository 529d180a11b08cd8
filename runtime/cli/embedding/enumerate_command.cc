// shardwright enumerate PROBLEM
#include <memory>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/commands/embedding/embedding_commands.h"

namespace shardwright::cli {
namespace {

struct EnumerateArguments {
  ProblemArguments problem;
  OutputArguments output;
  bool runs = false;
};

Result<commands::EnumerateRequest> request_of(const EnumerateArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::ProblemRequest problem, request_of(arguments.problem));
  return commands::EnumerateRequest{std::move(problem), arguments.runs};
}

}  // namespace

void add_enumerate_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<EnumerateArguments>();
  CLI::App& command = *app.add_subcommand(
      "enumerate", "Lists the sharding options of every table with their costs");
  add_problem_arguments(command, arguments->problem);
  command.add_flag("--runs", arguments->runs,
                   "Write equal neighbouring shards as one entry with `count`");
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright enumerate my_tables.json --ranks 16 --runs -o options.json");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
