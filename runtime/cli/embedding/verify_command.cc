// shardwright verify PROBLEM PLAN
#include <memory>
#include <optional>
#include <string>

#include "core/text/printable.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/embedding/result/plan_stats.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/embedding/plan/stats_json.h"
#include "runtime/io/file.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/report/embedding/questions/stats_text.h"
#include "runtime/report/text/format.h"

namespace shardwright::cli {
namespace {

struct VerifyArguments {
  ProblemArguments problem;
  OutputArguments output;
  std::string plan_path;
  bool stats = false;
};

// Statistics of the recomputed plan; absent if it could not be recomputed.
std::optional<PlanStats> stats_of(const VerifyArguments& arguments, const LoadedProblem& loaded,
                                  const Verification& verification) {
  if (!arguments.stats || !verification.plan || !verification.reservation) return std::nullopt;
  return plan_stats(*loaded.problem, *verification.reservation, *verification.plan);
}

void write_json(const embedding::Problem& problem, const Verification& verification,
                const std::optional<PlanStats>& stats, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .member("valid", verification.valid())
      .member("has_plan", verification.has_plan)
      .member("claims_checked", verification.claims)
      .key("violations")
      .begin_array();
  for (const Verification::Finding& finding : verification.violations) {
    json.new_line()
        .begin_object()
        .member("where", finding.where)
        .member("message", finding.message)
        .end_object();
  }
  json.end_array();
  if (stats) write_stats(problem, *stats, json.new_line().key("stats"));
  json.end_object().finish();
}

std::string report(const Verification& verification) {
  std::string text;
  for (const Verification::Finding& finding : verification.violations) {
    text += "violation: " + printable(finding.where) + (finding.where.empty() ? "" : ": ") +
            printable(finding.message) + "\n";
  }
  if (!verification.valid())
    return text + format_plural(verification.violations.size(), "violation") + " found\n";
  text = "valid: " + std::to_string(verification.claims) + " claims recomputed, all hold\n";
  if (!verification.has_plan) text += "the file holds no plan, only why there is none\n";
  return text;
}

int run(const VerifyArguments& arguments) {
  const Log log = arguments.output.log();
  if (arguments.plan_path == "-" &&
      (arguments.problem.problem_path == "-" || arguments.problem.search_space_path == "-")) {
    return fail(invalid_input("PLAN", "only one input can come from standard input"));
  }
  const Result<LoadedProblem> loaded = load_problem(arguments.problem, log);
  if (!loaded.ok()) return fail(loaded.error());
  const Result<std::string> text = read_file(arguments.plan_path);
  if (!text.ok()) return fail(text.error());
  const Result<PlanDocument> document = read_plan(*text);
  if (!document.ok()) return fail(in_file(document.error(), arguments.plan_path));
  const Result<Verification> verification =
      verify_plan(loaded->problem, *document, loaded->search_space);
  if (!verification.ok()) return fail(verification.error());
  const std::optional<PlanStats> stats = stats_of(arguments, *loaded, *verification);
  return emit(
      arguments.output, verification->valid() ? kDone : kViolation,
      [&](const TextSink& sink) { write_json(*loaded->problem, *verification, stats, sink); },
      [&](std::size_t width) {
        TextReportOptions options;
        options.width = width;
        return report(*verification) +
               (stats ? stats_section(*loaded->problem, *stats, options) : "");
      });
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
  add_stats_argument(command, arguments->stats);
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright verify my_tables.json plan.json --ranks 16 --hbm 80GiB");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
