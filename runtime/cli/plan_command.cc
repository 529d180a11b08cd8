// shardwright plan PROBLEM
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "runtime/cli/commands.h"
#include "runtime/cli/exit_code.h"
#include "runtime/cli/interrupt.h"
#include "runtime/cli/progress.h"
#include "runtime/io/nearest_name.h"
#include "runtime/io/plan_json.h"
#include "runtime/planner.h"
#include "runtime/report/text.h"

namespace shardwright::cli {
namespace {

struct PlanArguments {
  ProblemArguments problem;
  OutputArguments output;
  PlanOptions options;
  std::string mode = "best";
  bool emit_search_space = false;
};

Result<PlanMode> mode_of(const std::string& name) {
  constexpr std::array<std::string_view, 2> kModes{"best", "exact"};
  if (name == "best") return PlanMode::kBest;
  if (name == "exact") return PlanMode::kExact;
  return invalid_input("--mode", "unknown mode \"" + name + "\"" + suggestion(name, kModes));
}

int status_of(const EmbeddingPlanResult& result) {
  if (result.plan) return kDone;
  return result.stopped_by.empty() ? kNoPlan : kStoppedByBudget;
}

// Plans with a progress line; Ctrl-C ends the search with the best plan so far.
Result<EmbeddingPlanResult> plan_interruptibly(const LoadedProblem& loaded, PlanOptions options,
                                               const Log& log) {
  const InterruptGuard interrupt;
  ProgressLine line;
  options.stop = interrupt.token();
  options.on_progress = [&](const PlanProgress& progress) {
    line.show(progress);
    if (log.enabled()) {
      log.info(std::to_string(progress.proposals) + " proposals, " +
               std::to_string(progress.plans) + " fit" +
               (progress.best_rating ? ", best " + std::to_string(*progress.best_rating) : ""));
    }
  };
  return plan_embedding(loaded.problem, options, loaded.search_space);
}

int run(const PlanArguments& arguments) {
  const Log log = arguments.output.log();
  const Result<PlanMode> mode = mode_of(arguments.mode);
  if (!mode.ok()) return fail(mode.error());
  const Result<LoadedProblem> loaded = load_problem(arguments.problem, log);
  if (!loaded.ok()) return fail(loaded.error());
  PlanOptions options = arguments.options;
  options.mode = *mode;
  options.threads = arguments.output.threads;
  const Result<EmbeddingPlanResult> result = plan_interruptibly(*loaded, std::move(options), log);
  if (!result.ok()) return fail(in_file(result.error(), arguments.problem.problem_path));
  // Exact mode keeps a plan that the peer would make although it breaks a rule, and says so.
  for (const embedding::Violation& violation : result->evaluation.violations) {
    warn(violation.message);
  }
  log.info("evaluated " + std::to_string(result->num_proposals) + " proposals, " +
           std::to_string(result->num_plans) + " fit");
  const PlanJsonOptions json{arguments.emit_search_space, arguments.options.trace,
                             loaded->read_s};
  return emit(
      arguments.output, status_of(*result),
      [&](const TextSink& sink) { write_plan(*loaded->problem, *result, json, sink); },
      [&](std::size_t width) {
        TextReportOptions report;
        report.width = width;
        report.read_s = loaded->read_s;
        return text_report(*loaded->problem, *result, report);
      });
}

}  // namespace

void add_plan_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<PlanArguments>();
  CLI::App& command =
      *app.add_subcommand("plan", "Chooses sharding, kernel and ranks of every table");
  add_problem_arguments(command, arguments->problem);
  add_search_space_argument(command, arguments->problem);
  command
      .add_option(
          "--mode", arguments->mode,
          "best: the best plan to be found, with a bound; exact: decide as TorchRec's planner does")
      ->capture_default_str();
  command.add_flag("--trace", arguments->options.trace, "Keep every proposal in the JSON");
  command.add_flag("--emit-search-space", arguments->emit_search_space,
                   "Keep every sharding option in the JSON");
  command
      .add_option("--time-limit", arguments->options.time_limit_s,
                  "Stop after this many seconds; the result then depends on the machine")
      ->check(seconds(true));
  command
      .add_option("--work-limit", arguments->options.work_limit,
                  "Stop after this many steps: placed shards, and in best mode steps of improving "
                  "and proving")
      ->check(CLI::NonNegativeNumber);
  command.add_option("--seed", arguments->options.seed, "Seed of everything random");
  add_output_arguments(command, arguments->output);
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
