// shardwright explain PROBLEM [PLAN]
#include <memory>
#include <optional>
#include <string>

#include <CLI/CLI.hpp>

#include "runtime/cli/answering/answering.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/embedding/plan_arguments.h"

namespace shardwright::cli {
namespace {

struct ExplainArguments {
  PlanArguments plan;
  std::string plan_path;  // empty = none
  std::string table;      // empty = all
};

Result<commands::ExplainRequest> request_of(const ExplainArguments& arguments) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanOptions options, plan_options(arguments.plan));
  SHARDWRIGHT_ASSIGN_OR_RETURN(commands::ProblemRequest problem,
                               request_of(arguments.plan.problem));
  commands::ExplainRequest request{std::move(problem), std::move(options),
                                   commands::Input::file(arguments.plan_path), std::nullopt};
  if (!arguments.table.empty()) request.table = arguments.table;
  return request;
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
  add_report_argument(command, arguments->plan.output);
  add_example(command,
              "shardwright explain my_tables.json plan.json --ranks 16 --hbm 80GiB --table ads\n"
              "  shardwright explain too_large.json");
  command.callback([arguments, &chosen] {
    chosen = [arguments] { return respond(arguments->plan.output, request_of(*arguments)); };
  });
}

}  // namespace shardwright::cli
