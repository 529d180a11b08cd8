// shardwright replan PROBLEM PLAN
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"

namespace shardwright::cli {
namespace {

struct ReplanArguments {
  PlanArguments plan;
  std::string old_path;
  double migration_weight = 0;
};

Result<commands::ReplanRequest> request_of(const ReplanArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanOptions options, plan_options(arguments.plan));
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::ProblemRequest problem,
                               request_of(arguments.plan.problem));
  return commands::ReplanRequest{std::move(problem), std::move(options), arguments.plan.contents,
                                 commands::Input::file(arguments.old_path),
                                 arguments.migration_weight};
}

}  // namespace

void add_replan_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReplanArguments>();
  arguments->plan.output.progress_line = true;
  CLI::App& command = *app.add_subcommand(
      "replan", "Plans again from a plan in use, and says which tables move and how many bytes");
  add_problem_arguments(command, arguments->plan.problem);
  command.add_option("PLAN", arguments->old_path, "Plan in use (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_search_space_argument(command, arguments->plan.problem);
  command
      .add_option("--migration-weight", arguments->migration_weight,
                  "Milliseconds of rating that moving a GiB must save (0 = moves cost nothing)")
      ->check(decimal_number(" of milliseconds per GiB", true))
      ->capture_default_str();
  add_search_arguments(command, arguments->plan);
  add_json_arguments(command, arguments->plan);
  add_output_arguments(command, arguments->plan.output);
  add_example(command,
              "shardwright replan my_tables.json plan.json --ranks 8 --migration-weight 0.5 "
              "-o new_plan.json");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->plan.output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
