// shardwright verify PROBLEM PLAN
#include <memory>
#include <optional>
#include <string>

#include "core/text/printable.h"
#include "runtime/cli/embedding/commands.h"
#include "runtime/cli/options/exit_code.h"
#include "runtime/embedding/result/plan_stats.h"
#include "runtime/embedding/verify.h"
#include "runtime/io/embedding/claims/verify_file.h"
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
  std::string old_plan_path;
  bool stats = false;
};

// Statistics of the recomputed plan; absent if it could not be recomputed.
std::optional<PlanStats> stats_of(const VerifyArguments& arguments,
                                  const Verification& verification) {
  if (!arguments.stats || !verification.plan || !verification.reservation) return std::nullopt;
  return plan_stats(*verification.problem, *verification.reservation, *verification.plan);
}

void write_findings(std::string_view key, const std::vector<Verification::Finding>& findings,
                    JsonWriter& json) {
  json.key(key).begin_array();
  for (const Verification::Finding& finding : findings) {
    json.new_line()
        .begin_object()
        .member("where", finding.where)
        .member("message", finding.message)
        .end_object();
  }
  json.end_array();
}

void write_json(const embedding::Problem& problem, const Verification& verification,
                const std::optional<PlanStats>& stats, const TextSink& sink) {
  JsonWriter json(sink);
  json.begin_object()
      .member("valid", verification.verified())
      .member("has_plan", verification.has_plan)
      .member("claims_checked", verification.claims);
  write_findings("violations", verification.violations, json);
  write_findings("not_verified", verification.not_verified, json.new_line());
  json.new_line().key("not_checked").begin_array();
  for (const std::string& name : verification.not_checked)
    json.value(name);
  json.end_array();
  if (stats) write_stats(problem, *stats, json.new_line().key("stats"));
  json.end_object().finish();
}

std::string lines(const char* what, const std::vector<Verification::Finding>& findings) {
  std::string text;
  for (const Verification::Finding& finding : findings) {
    text += std::string(what) + ": " + printable(finding.where) +
            (finding.where.empty() ? "" : ": ") + printable(finding.message) + "\n";
  }
  return text;
}

// History and notes.
std::string not_checked_line(const Verification& verification) {
  std::string text;
  for (const std::string& name : verification.not_checked)
    text +=
        (text.empty() ? "not checked, because only a new search could: " : ", ") + printable(name);
  return text.empty() ? "" : text + "\n";
}

// On another machine nearly every claim is false, and only the machine is worth a line.
std::string other_machine_text(const Verification& verification) {
  std::string text = lines("violation", {verification.violations.front()});
  const std::size_t others = verification.violations.size() - 1;
  if (others == 0) return text;
  return text + format_plural(others, "other violation") +
         ", which may follow from that; --json lists them\n";
}

std::string report(const Verification& verification) {
  if (verification.other_machine) return other_machine_text(verification);
  std::string text = lines("violation", verification.violations) +
                     lines("not verified", verification.not_verified);
  if (!verification.valid()) {
    text += format_plural(verification.violations.size(), "violation") + " found\n";
  } else if (!verification.verified()) {
    text += "not verified: " + std::to_string(verification.claims) +
            " claims recomputed, nothing false found\n";
  } else {
    text += "valid: " + std::to_string(verification.claims) + " claims recomputed, all hold\n";
  }
  if (!verification.has_plan) text += "the file holds no plan, only why there is none\n";
  return text + not_checked_line(verification);
}

ExitCode exit_code_of(const Verification& verification) {
  if (!verification.valid()) return kViolation;
  return verification.verified() ? kDone : kNotVerified;
}

Result<VerifyInputs> inputs_of(const VerifyArguments& arguments, const LoadedProblem& loaded) {
  VerifyInputs inputs;
  inputs.search_space = loaded.search_space;
  if (arguments.old_plan_path.empty()) return inputs;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, read_file(arguments.old_plan_path));
  const Result<PlanDocument> old = read_plan(text);
  if (!old.ok()) return in_file(old.error(), arguments.old_plan_path);
  if (!old->plan)
    return in_file(invalid_input("", "the file holds no plan"), arguments.old_plan_path);
  inputs.old_plan = old->plan;
  return inputs;
}

// Returns true if two inputs come from standard input.
bool reads_twice(const VerifyArguments& arguments) {
  int reads = 0;
  for (const std::string* path :
       {&arguments.plan_path, &arguments.old_plan_path, &arguments.problem.problem_path,
        &arguments.problem.search_space_path}) {
    reads += *path == "-" ? 1 : 0;
  }
  return reads > 1;
}

int run(const VerifyArguments& arguments) {
  const Log log = arguments.output.log();
  if (reads_twice(arguments)) {
    return fail(invalid_input("PLAN", "only one input can come from standard input"));
  }
  const Result<LoadedProblem> loaded = load_problem(arguments.problem, log);
  if (!loaded.ok()) return fail(loaded.error());
  const Result<std::string> text = read_file(arguments.plan_path);
  if (!text.ok()) return fail(text.error());
  const Result<VerifyInputs> inputs = inputs_of(arguments, *loaded);
  if (!inputs.ok()) return fail(inputs.error());
  const Result<PlanDocument> document = read_plan(*text);
  if (!document.ok()) return fail(in_file(document.error(), arguments.plan_path));
  const Result<Verification> verification = verify_plan_file(loaded->problem, *text, *inputs);
  if (!verification.ok()) return fail(verification.error());
  const std::optional<PlanStats> stats = stats_of(arguments, *verification);
  return emit(
      arguments.output, exit_code_of(*verification),
      [&](const TextSink& sink) { write_json(*verification->problem, *verification, stats, sink); },
      [&](std::size_t width) {
        TextReportOptions options;
        options.width = width;
        return report(*verification) +
               (stats ? stats_section(*verification->problem, *stats, options) : "");
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
  command
      .add_option("--old-plan", arguments->old_plan_path,
                  "Plan that `replan` began with, to check what moved")
      ->type_name(kFile);
  add_stats_argument(command, arguments->stats);
  add_output_arguments(command, arguments->output);
  add_example(command, "shardwright verify my_tables.json plan.json --ranks 16 --hbm 80GiB");
  command.callback([arguments, &chosen] { chosen = [arguments] { return run(*arguments); }; });
}

}  // namespace shardwright::cli
