// shardwright verify
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/text/printable.h"
#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/embedding/result/plan_stats.h"
#include "runtime/embedding/verify.h"
#include "runtime/execution/run_limits.h"
#include "runtime/io/embedding/claims/verify_file.h"
#include "runtime/io/embedding/plan/plan_json.h"
#include "runtime/io/embedding/plan/stats_json.h"
#include "runtime/io/json/json_writer.h"
#include "runtime/report/embedding/questions/stats_text.h"
#include "runtime/report/text/format.h"

namespace shardwright::commands {
namespace {

struct Verified {
  Verification verification;
  std::optional<PlanStats> stats;  // absent if not asked for, or if nothing could be recomputed
};

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
  write_findings("repeated", verification.repeated, json.new_line());
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
  return text + lines("repeated, not recomputed", verification.repeated) +
         not_checked_line(verification);
}

Outcome outcome_of(const Verification& verification) {
  if (!verification.valid()) return Outcome::kViolation;
  return verification.verified() ? Outcome::kDone : Outcome::kNotVerified;
}

Result<VerifyInputs> inputs_of(const VerifyRequest& request, const LoadedProblem& loaded,
                               const Watch& watch) {
  VerifyInputs inputs;
  inputs.search_space = loaded.search_space;
  if (!request.old_plan.given()) return inputs;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanDocument old, load_plan(request.old_plan, watch));
  if (!old.plan) return request.old_plan.locate(invalid_input("", "the file holds no plan"));
  inputs.old_plan = old.plan;
  return inputs;
}

Answer answer_of(Verified found) {
  const auto verified = std::make_shared<const Verified>(std::move(found));
  const auto problem = verified->verification.problem;
  Answer answer;
  answer.outcome = outcome_of(verified->verification);
  answer.write_json = [verified, problem](const TextSink& sink) {
    write_json(*problem, verified->verification, verified->stats, sink);
  };
  answer.text = [verified, problem](const TextForm& form) {
    TextReportOptions options;
    options.width = form.width;
    return report(verified->verification) +
           (verified->stats ? stats_section(*problem, *verified->stats, options) : "");
  };
  return answer;
}

}  // namespace

Result<Answer> answer(const VerifyRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded, load(request.problem, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const std::string text, request.plan.read(watch.read));
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(0, request.time_limit_s));
  SHARDWRIGHT_ASSIGN_OR_RETURN(VerifyInputs inputs, inputs_of(request, loaded, watch));
  inputs.budget = Budget(std::nullopt, request.time_limit_s, watch.begin());
  // What follows also reports errors of the problem.
  if (const auto plan = read_plan(text); !plan.ok()) return request.plan.locate(plan.error());
  SHARDWRIGHT_ASSIGN_OR_RETURN(Verification verification,
                               verify_plan_file(loaded.problem, text, inputs));
  Verified found{std::move(verification), std::nullopt};
  const Verification& claims = found.verification;
  if (request.stats && claims.plan && claims.reservation)
    found.stats = plan_stats(*claims.problem, *claims.reservation, *claims.plan);
  return answer_of(std::move(found));
}

}  // namespace shardwright::commands
