// shardwright explain PROBLEM [PLAN]
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/cli/options/interrupt.h"
#include "runtime/embedding/explain/explain.h"
#include "runtime/embedding/identity/identity.h"
#include "runtime/embedding/identity/other_machine.h"
#include "runtime/io/embedding/answers/explain_json.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/file.h"
#include "runtime/report/embedding/questions/explain_text.h"

namespace shardwright::cli {
namespace {

struct ExplainArguments {
  PlanArguments plan;
  std::string plan_path;  // empty = none
  std::string table;      // empty = all
};

// The plan of the plan file; nothing without a file or if the file has no plan.
Result<std::optional<PlanDocument>> read_document(const ExplainArguments& arguments) {
  if (arguments.plan_path.empty()) return std::optional<PlanDocument>();
  const ProblemArguments& problem = arguments.plan.problem;
  if (arguments.plan_path == "-" &&
      (problem.problem_path == "-" || problem.search_space_path == "-"))
    return invalid_input("PLAN", "only one input can come from standard input");
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.plan_path));
  Result<PlanDocument> document = read_plan(text);
  if (!document.ok()) return in_file(document.error(), arguments.plan_path);
  if (!document->plan) return std::optional<PlanDocument>();
  return std::optional(std::move(document).value());
}

// Warns if the plan was made for another problem. It is explained as a plan of this one, and
// without a warning nobody would notice a forgotten flag.
void warn_of_other_problem(const PlanDocument& document, const LoadedProblem& loaded,
                           const std::string& path) {
  if (!document.problem_hash) return;
  const ProblemIdentity identity = identify(*loaded.problem, loaded.search_space.get());
  if (*document.problem_hash == identity.hash) return;
  if (*document.problem_hash == identify(*loaded.problem).hash) return;
  const auto machine = other_machine(document, loaded.problem->topology());
  warn(path + " was made for another problem, which differs in " +
       differing_parts(document.problem_parts, identity.parts) +
       "; it is explained as a plan of this one" +
       (machine ? ", although " + *machine : ". Are all flags the same?"));
}

int status_of(const Explanation& explanation) {
  if (explanation.result.plan) return kDone;
  return explanation.infeasibility ? kNoPlan : kStoppedByBudget;
}

int run(const ExplainArguments& arguments) {
  const Log log = arguments.plan.output.log();
  const Result<PlanOptions> options = plan_options(arguments.plan);
  if (!options.ok()) return fail(options.error());
  const Result<std::optional<PlanDocument>> document = read_document(arguments);
  if (!document.ok()) return fail(document.error());
  const Result<LoadedProblem> loaded =
      *document ? load_problem_of(arguments.plan.problem, **document, log)
                : load_problem(arguments.plan.problem, log);
  if (!loaded.ok()) return fail(loaded.error());
  const InterruptGuard interrupt;
  ExplainOptions explain{*options, std::nullopt};
  explain.plan.stop = interrupt.token();
  if (!arguments.table.empty()) explain.table = arguments.table;
  const bool has_plan = document->has_value();
  const Result<Explanation> explanation = explain_embedding(
      loaded->problem, has_plan ? (*document)->plan : std::nullopt, explain, loaded->search_space);
  if (!explanation.ok()) {
    const std::string& where = explanation.error().where;
    const auto machine =
        has_plan ? other_machine(**document, loaded->problem->topology()) : std::nullopt;
    if (machine && where.starts_with("/plan"))
      return fail(in_file(invalid_input("", *machine), arguments.plan_path));
    if (where.starts_with("--")) return fail(explanation.error());
    return fail(in_file(explanation.error(), where.starts_with("/plan")
                                                 ? arguments.plan_path
                                                 : arguments.plan.problem.problem_path));
  }
  if (explanation->tables_left_out > 0) {
    note("stopped; " + std::to_string(explanation->tables_left_out) + " tables are not explained");
  }
  if (has_plan) warn_of_other_problem(**document, *loaded, arguments.plan_path);
  for (const embedding::Violation& violation : explanation->result.evaluation.violations)
    warn(violation.message);
  return emit(
      arguments.plan.output, status_of(*explanation),
      [&](const TextSink& sink) { write_explanation(*explanation, sink); },
      [&](std::size_t width) { return explain_report(*explanation, width); });
}

}  // namespace

void add_explain_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App& command = *app.add_subcommand(
      "explain",
      "Says why every table is sharded as it is, or why nothing fits and what would help");
  add_problem_arguments(command, arguments->plan.problem);
  command
      .add_option("PLAN", arguments->plan_path,
                  "Plan to explain (- = stdin); without one, the problem is planned")
      ->type_name(kFile);
  add_search_space_argument(command, arguments->plan.problem);
  command.add_option("--table", arguments->table, "Explain only this table");
  add_search_arguments(command, arguments->plan);
  add_output_arguments(command, arguments->plan.output);
  add_example(command,
              "shardwright explain my_tables.json plan.json --table ads\n"
              "  shardwright explain too_large.json");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
