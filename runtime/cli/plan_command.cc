// shardwright plan PROBLEM
#include <memory>

#include <CLI/CLI.hpp>

#include "runtime/cli/commands.h"
#include "runtime/cli/plan_arguments.h"

namespace shardwright::cli {
namespace {

int run(const PlanArguments& arguments) {
  const Log log = arguments.output.log();
  const Result<PlanOptions> options = plan_options(arguments);
  if (!options.ok()) return fail(options.error());
  const Result<LoadedProblem> loaded = load_problem(arguments.problem, log);
  if (!loaded.ok()) return fail(loaded.error());
  const Result<EmbeddingPlanResult> result =
      plan_interruptibly(*options, log, [&](const PlanOptions& watched) {
        return plan_embedding(loaded->problem, watched, loaded->search_space);
      });
  if (!result.ok()) return fail(in_file(result.error(), arguments.problem.problem_path));
  return emit_plan(arguments, *loaded, *result, log);
}

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command =
      *app.add_subcommand("plan", "Chooses sharding, kernel and ranks of every table");
  add_problem_arguments(command, arguments->problem);
  add_search_space_argument(command, arguments->problem);
  add_search_arguments(command, *arguments);
  add_json_arguments(command, *arguments);
  add_output_arguments(command, arguments->output);
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
