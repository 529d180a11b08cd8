#include "runtime/cli/embedding/plan_arguments.h"

#include <string_view>
#include <utility>

#include "core/nearest_name.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/cli/options/progress.h"
#include "runtime/cli/report/report_argument.h"
#include "runtime/embedding/layouts/layout_problem.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/report/embedding/plan/text.h"
#include "runtime/report/embedding/questions/migration_text.h"
#include "runtime/report/embedding/questions/stats_text.h"
#include "runtime/report/text/format.h"

namespace shardwright::cli {
namespace {

Result<PlanMode> mode_of(const std::string& name) {
  for (const PlanMode mode : {PlanMode::kBest, PlanMode::kCompat}) {
    if (name == name_of(mode)) return mode;
  }
  if (name == "exact") {
    return invalid_input("--mode", "exact mode is called compat mode now: use `--mode compat`");
  }
  return invalid_input("--mode",
                       "unknown mode \"" + name + "\"" + suggestion(name, kPlanModeNames));
}

int status_of(const EmbeddingPlanResult& result) {
  if (result.plan) return kDone;
  return result.stopped_by == StopReason::kFinished ? kNoPlan : kStoppedByBudget;
}

// What to ask next if there is no plan.
std::string next_hint(const PlanArguments& arguments, const EmbeddingPlanResult& result) {
  if (result.stopped_by != StopReason::kFinished) {
    return "stopped by " + std::string(text_of(result.stopped_by)) +
           " before any plan was found; allow more to find out whether there is one";
  }
  return "`shardwright explain " + arguments.problem.problem_path +
         "` with the same flags says what does not fit, and the smallest changes that would help";
}

}  // namespace

void add_search_arguments(CLI::App& command, PlanArguments& arguments) {
  command
      .add_option(
          "--mode", arguments.mode,
          "best: the best plan that the search finds, with a bound; compat: TorchRec's decisions")
      ->type_name("best|compat")
      ->capture_default_str();
  command
      .add_option("--time-limit", arguments.options.time_limit_s,
                  "Stop after this many seconds; the result then depends on the machine")
      ->check(seconds(true));
  command
      .add_option("--work-limit", arguments.options.work_limit,
                  "Stop after this many steps of work; the result is the same on any machine")
      ->transform(whole_number(0));
  command.add_option("--seed", arguments.options.seed, "Seed of everything random")
      ->transform(whole_number(0));
}

void add_json_arguments(CLI::App& command, PlanArguments& arguments) {
  command.add_flag("--trace", arguments.options.trace, "Keep every proposal in the JSON");
  command.add_flag("--emit-search-space", arguments.emit_search_space,
                   "Keep every sharding option in the JSON");
  add_report_argument(command, arguments.report_path);
  add_stats_argument(command, arguments.stats);
}

Result<PlanOptions> plan_options(const PlanArguments& arguments) {
  PlanOptions options = arguments.options;
  SHARDWRIGHT_ASSIGN_OR_RETURN(options.mode, mode_of(arguments.mode));
  options.threads = arguments.output.threads;
  return options;
}

Result<EmbeddingPlanResult> plan_interruptibly(
    PlanOptions options, const Log& log,
    const std::function<Result<EmbeddingPlanResult>(const PlanOptions&)>& plan) {
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
  return plan(options);
}

namespace {

void log_copies(const embedding::PlanCopies& copies, const Log& log) {
  if (!log.enabled()) return;
  log.info("published " + std::to_string(copies.plans) +
           " plans: " + std::to_string(copies.assignments_copied) + " assignments copied with " +
           std::to_string(copies.rank_bytes_copied) + " bytes of ranks, " +
           std::to_string(copies.assignments_shared) + " shared, " +
           std::to_string(copies.nodes_copied) + " tree nodes copied, " +
           std::to_string(copies.options_added) + " options added");
}

}  // namespace

Result<LoadedProblem> load_problem_of(const ProblemArguments& arguments,
                                      const PlanDocument& document, const Log& log) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(LoadedProblem loaded, load_problem(arguments, log));
  auto problem = problem_of_plan(loaded.problem, document);
  if (!problem.ok()) return in_file(problem.error(), arguments.problem_path);
  loaded.problem = std::move(problem).value();
  return loaded;
}

int emit_plan(const PlanArguments& arguments, const LoadedProblem& loaded,
              const EmbeddingPlanResult& result, const Log& log) {
  // Compat mode keeps TorchRec's plan even if it breaks a rule.
  for (const embedding::Violation& violation : result.evaluation.violations) {
    warn(violation.message);
  }
  if (!result.bound_refusal.empty())
    warn("no lower bound is claimed, because " + result.bound_refusal);
  log.info("evaluated " + std::to_string(result.num_proposals) + " proposals, " +
           std::to_string(result.num_plans) + " fit");
  log_copies(result.work.plans, log);
  const embedding::Problem& problem = *result.problem;
  const Status reported = write_report(arguments.report_path, problem, result, loaded.read_s);
  if (!reported.ok()) return fail(reported.error());
  const bool json_asked = arguments.output.json || !arguments.output.path.empty();
  if (!result.plan && json_asked) note("no plan; " + next_hint(arguments, result));
  const PlanJsonOptions json{arguments.emit_search_space, arguments.stats, arguments.options.trace,
                             loaded.read_s};
  return emit(
      arguments.output, status_of(result),
      [&](const TextSink& sink) { write_plan(problem, result, json, sink); },
      [&](std::size_t width) {
        TextReportOptions report;
        report.width = width;
        report.read_s = loaded.read_s;
        report.colours = wants_colours();
        std::string text =
            text_report(problem, result, report) + migration_section(problem, result, report);
        if (!result.plan) return text + "\n" + wrap(next_hint(arguments, result), width, 0);
        if (!arguments.stats || !result.reservation) return text;
        const PlanStats stats = plan_stats(problem, *result.reservation, *result.plan);
        return text + stats_section(problem, stats, report);
      },
      summary_text(problem, result));
}

}  // namespace shardwright::cli
