// shardwright verify PROBLEM PLAN
#include <memory>
#include <optional>
#include <string>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/commands/embedding/embedding_commands.h"

namespace shardwright::cli {
namespace {

struct VerifyArguments {
  ProblemArguments problem;
  OutputArguments output;
  std::string plan_path;
  std::string old_plan_path;
  bool stats = false;
  std::optional<double> time_limit_s;
};

Result<commands::VerifyRequest> request_of(const VerifyArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::ProblemRequest problem, request_of(arguments.problem));
  return commands::VerifyRequest{std::move(problem), commands::Input::file(arguments.plan_path),
                                 commands::Input::file(arguments.old_plan_path), arguments.stats,
                                 arguments.time_limit_s};
}

}  // namespace

void add_verify_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<VerifyArguments>();
  CLI::App& command = *app.add_subcommand(
      "verify",
      "Recomputes what a plan claims, from scratch; exits 5 where something does not hold");
  add_problem_arguments(command, arguments->problem);
  command.add_option("PLAN", arguments->plan_path, "Plan file (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_search_space_argument(command, arguments->problem);
  command
      .add_option("--old-plan", arguments->old_plan_path,
                  "Plan that `replan` began with, to check what moved")
      ->type_name(kFile);
  command
      .add_option("--time-limit", arguments->time_limit_s,
                  "Stop after this many seconds; what is not checked by then is not verified")
      ->check(seconds(true));
  add_stats_argument(command, arguments->stats);
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright verify my_tables.json plan.json --ranks 16 --hbm 80GiB");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
