// shardwright diff PLAN_A PLAN_B
#include <memory>
#include <string>
#include <utility>

#include <CLI/CLI.hpp>

#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/io/embedding/answers/diff_json.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/file.h"
#include "runtime/io/json/json_document.h"
#include "runtime/report/embedding/questions/diff_text.h"

namespace shardwright::cli {
namespace {

struct DiffArguments {
  std::string from_path, to_path;
  ProblemArguments topology;  // of both problems
  OutputArguments output;
};

struct Input {
  std::string text;
  bool is_problem = false;
};

// A file with `tables` is a problem, any other file a plan.
Result<Input> read_input(const std::string& path) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::string text, read_file(path));
  const Result<JsonDocument> document = JsonDocument::parse(text);
  if (!document.ok()) return in_file(document.error(), path);
  const bool is_problem =
      document->root().is_object() && document->root().find("tables").has_value();
  return Input{std::move(text), is_problem};
}

Result<embedding::Problem> problem_of(const Input& input, const std::string& path,
                                      const ProblemOverrides& overrides) {
  Result<embedding::ProblemSpec> spec = read_problem(input.text, overrides);
  if (!spec.ok()) return in_file(spec.error(), path);
  Result<embedding::Problem> problem = embedding::Problem::make(std::move(spec).value());
  return problem.ok() ? std::move(problem) : in_file(problem.error(), path);
}

template <class Diff>
int emit_diff(const Diff& diff, const OutputArguments& output) {
  return emit(
      output, kDone, [&](const TextSink& sink) { write_diff(diff, sink); },
      [&](std::size_t width) {
        TextReportOptions report;
        report.width = width;
        return diff_report(diff, report);
      });
}

int diff_problem_files(const Input& from, const Input& to, const DiffArguments& arguments) {
  const Result<ProblemOverrides> overrides = overrides_of(arguments.topology);
  if (!overrides.ok()) return fail(overrides.error());
  const Result<embedding::Problem> before = problem_of(from, arguments.from_path, *overrides);
  if (!before.ok()) return fail(before.error());
  const Result<embedding::Problem> after = problem_of(to, arguments.to_path, *overrides);
  if (!after.ok()) return fail(after.error());
  return emit_diff(diff_problems(*before, *after), arguments.output);
}

int diff_plan_files(const Input& from, const Input& to, const DiffArguments& arguments) {
  const Result<PlanDocument> before = read_plan(from.text);
  if (!before.ok()) return fail(in_file(before.error(), arguments.from_path));
  const Result<PlanDocument> after = read_plan(to.text);
  if (!after.ok()) return fail(in_file(after.error(), arguments.to_path));
  const Result<PlanDiff> diff = diff_plans(*before, *after);
  return diff.ok() ? emit_diff(*diff, arguments.output) : fail(diff.error());
}

int run(const DiffArguments& arguments) {
  if (arguments.from_path == "-" && arguments.to_path == "-") {
    return fail(invalid_input("PLAN_B", "only one input can come from standard input"));
  }
  const Result<Input> from = read_input(arguments.from_path);
  if (!from.ok()) return fail(from.error());
  const Result<Input> to = read_input(arguments.to_path);
  if (!to.ok()) return fail(to.error());
  if (from->is_problem != to->is_problem) {
    const auto kind = [](const Input& input) {
      return std::string(input.is_problem ? "a problem" : "a plan");
    };
    return fail(invalid_input(arguments.to_path, "is " + kind(*to) + ", and " +
                                                     arguments.from_path + " is " + kind(*from) +
                                                     "; compare two of a kind"));
  }
  return from->is_problem ? diff_problem_files(*from, *to, arguments)
                          : diff_plan_files(*from, *to, arguments);
}

}  // namespace

void add_diff_command(CLI::App& app, Action& chosen) {
  auto arguments = std::make_shared<DiffArguments>();
  CLI::App& command =
      *app.add_subcommand("diff", "Says what differs between two plans, or between two problems");
  command.add_option("PLAN_A", arguments->from_path, "Plan or problem before (- = stdin)")
      ->type_name(kFile)
      ->required();
  command.add_option("PLAN_B", arguments->to_path, "Plan or problem after (- = stdin)")
      ->type_name(kFile)
      ->required();
  add_topology_arguments(command, arguments->topology);
  add_output_arguments(command, arguments->output);
  add_example(command,
              "shardwright diff plan.json new_plan.json --json\n"
              "  shardwright diff my_tables.json new_tables.json --ranks 16");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
