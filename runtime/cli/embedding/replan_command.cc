// shardwright replan PROBLEM PLAN
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/reuse.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/file.h"

namespace shardwright::cli {
namespace {

struct ReplanArguments {
  PlanArguments plan;
  std::string old_path;
  double migration_weight = 0;
};

Result<PlanDocument> read_old_plan(const ReplanArguments& arguments) {
  const ProblemArguments& problem = arguments.plan.problem;
  if (arguments.old_path == "-" &&
      (problem.problem_path == "-" || problem.search_space_path == "-")) {
    return invalid_input("PLAN", "only one input can come from standard input");
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.old_path));
  Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return in_file(document.error(), arguments.old_path);
  if (document->plan) return document;
  return in_file(invalid_input("", "the file holds no plan to begin with; use `shardwright plan`"),
                 arguments.old_path);
}

int run(const ReplanArguments& arguments) {
  const Log log = arguments.plan.output.log();
  const Result<PlanOptions> options = plan_options(arguments.plan);
  if (!options.ok()) return fail(options.error());
  const Result<PlanDocument> old = read_old_plan(arguments);
  if (!old.ok()) return fail(old.error());
  const Result<LoadedProblem> loaded = load_problem_of(arguments.plan.problem, *old, log);
  if (!loaded.ok()) return fail(loaded.error());
  ReplanOptions replan{*options, arguments.migration_weight, std::nullopt};
  replan.best_mode_rating = best_mode_rating(*loaded->problem, loaded->search_space.get(), *old);
  const Result<EmbeddingPlanResult> result =
      plan_interruptibly(*options, log, [&](const PlanOptions& watched) {
        replan.plan = watched;
        return replan_embedding(loaded->problem, *old->plan, replan, loaded->search_space);
      });
  if (!result.ok()) {
    const bool in_plan = result.error().where.starts_with("/plan/");
    return fail(in_file(result.error(),
                        in_plan ? arguments.old_path : arguments.plan.problem.problem_path));
  }
  return emit_plan(arguments.plan, *loaded, *result, log);
}

}  // namespace

void add_replan_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReplanArguments>();
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
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
