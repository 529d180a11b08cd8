// shardwright plan PROBLEM
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/processes/crew.h"
#include "runtime/embedding/reuse.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/file.h"

namespace shardwright::cli {
namespace {

struct ReusingPlanArguments : PlanArguments {
  std::string reuse_path;  // empty = none
};

// The plan of the --reuse file as an answer. Warns and returns nothing if it does not hold.
Result<std::optional<EmbeddingPlanResult>> reused(const ReusingPlanArguments& arguments,
                                                  const LoadedProblem& loaded, PlanMode mode,
                                                  const FileReader& read) {
  const auto none = std::optional<EmbeddingPlanResult>();
  if (arguments.reuse_path.empty()) return none;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read(arguments.reuse_path));
  const Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return in_file(document.error(), arguments.reuse_path);
  SHARDWRIGHT_ASSIGN_OR_RETURN(Reuse reuse,
                               reuse_plan(loaded.problem, *document, mode, loaded.search_space));
  if (!reuse.result) warn(arguments.reuse_path + " is not reused: " + reuse.why_not);
  return std::move(reuse.result);
}

Status check_inputs(const ReusingPlanArguments& arguments) {
  const ProblemArguments& problem = arguments.problem;
  if (arguments.reuse_path == "-" &&
      (problem.problem_path == "-" || problem.search_space_path == "-")) {
    return invalid_input("--reuse", "only one input can come from standard input");
  }
  return {};
}

// One process chooses the layout of a machine; the others have nothing to do meanwhile.
bool is_shared(const Crew& crew, const LoadedProblem& loaded) {
  return !crew.is_alone() && loaded.problem->topology().layouts().empty();
}

int plan(const ReusingPlanArguments& arguments, const Crew& crew) {
  const Log log = arguments.output.log();
  const FileReader read = [&](const std::string& path) { return crew.read(path); };
  const Result<PlanOptions> options = plan_options(arguments);
  if (!options.ok()) return fail(options.error());
  if (const Status inputs = check_inputs(arguments); !inputs.ok()) return fail(inputs.error());
  const Result<LoadedProblem> loaded = load_problem(arguments.problem, log, read);
  if (!loaded.ok()) return fail(loaded.error());
  const Result<std::optional<EmbeddingPlanResult>> old = reused(arguments, *loaded, options->mode, read);
  if (!old.ok()) return fail(old.error());
  if (*old) return emit_plan(arguments, *loaded, **old, log);
  if (!crew.is_alone() && !is_first_process() && !is_shared(crew, *loaded)) return kDone;
  const Result<EmbeddingPlanResult> result =
      plan_interruptibly(*options, log, [&](PlanOptions watched) {
        crew.heed(watched.stop);
        if (is_shared(crew, *loaded)) watched.exchange = crew.exchange();
        return plan_embedding(loaded->problem, watched, loaded->search_space);
      });
  if (!result.ok()) return fail(in_file(result.error(), arguments.problem.problem_path));
  return emit_plan(arguments, *loaded, *result, log);
}

int run(const ReusingPlanArguments& arguments) {
  Result<Crew> joined = Crew::join();
  if (!joined.ok()) return fail(joined.error());
  Crew crew = std::move(joined).value();
  return crew.finish(plan(arguments, crew));
}

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ReusingPlanArguments>();
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
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
