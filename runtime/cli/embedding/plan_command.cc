// shardwright plan PROBLEM
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/options/answering.h"

namespace shardwright::cli {
namespace {

struct ReusingPlanArguments : PlanArguments {
  std::string reuse_path;  // empty = none
};

Result<commands::PlanRequest> request_of(const ReusingPlanArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanOptions options, plan_options(arguments));
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::ProblemRequest problem, request_of(arguments.problem));
  return commands::PlanRequest{std::move(problem), std::move(options), arguments.contents,
                               commands::Input::file(arguments.reuse_path)};
}

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReusingPlanArguments>();
  arguments->output.progress_line = true;
  CLI::App& command =
      *app.add_subcommand("plan", "Chooses sharding, kernel and ranks of every table");
  add_problem_arguments(command, arguments->problem);
  add_search_space_argument(command, arguments->problem);
  add_search_arguments(command, *arguments);
  command
      .add_option("--reuse", arguments->reuse_path,
                  "Plan file to answer with where it still holds for this problem and mode")
      ->type_name(kFile);
  add_json_arguments(command, *arguments);
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright plan my_tables.json --ranks 16 --hbm 80GiB -o plan.json");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
