#include "runtime/commands/embedding/plan_answer.h"

#include <string>
#include <utility>

#include "runtime/commands/pages.h"
#include "runtime/embedding/result/plan_stats.h"
#include "runtime/report/embedding/changes/migration_text.h"
#include "runtime/report/embedding/plan/text.h"
#include "runtime/report/embedding/questions/stats_text.h"
#include "runtime/report/text/format.h"

namespace shardwright::commands {
namespace {

Outcome outcome_of(const EmbeddingPlanResult& result) {
  if (result.plan) return Outcome::kDone;
  return result.stopped_by == StopReason::kFinished ? Outcome::kNoPlan : Outcome::kStopped;
}

// What to ask next if there is no plan.
std::string next_hint(const std::string& problem_name, const EmbeddingPlanResult& result) {
  if (result.stopped_by != StopReason::kFinished) {
    return "stopped by " + std::string(text_of(result.stopped_by)) +
           " before any plan was found; allow more to find out whether there is one";
  }
  return "`shardwright explain " + problem_name +
         "` with the same flags says what does not fit, and the smallest changes that would help";
}

std::string plan_text(const EmbeddingPlanResult& result, bool with_stats, double read_s,
                      const std::string& hint, const TextForm& form) {
  const embedding::Problem& problem = *result.problem;
  TextReportOptions options;
  options.width = form.width;
  options.read_s = read_s;
  options.colours = form.colours;
  std::string text =
      text_report(problem, result, options) + migration_section(problem, result, options);
  if (!result.plan) return text + "\n" + wrap(hint, form.width, 0);
  if (!with_stats || !result.reservation) return text;
  return text +
         stats_section(problem, plan_stats(problem, *result.reservation, *result.plan), options);
}

}  // namespace

PlanOptions watched(PlanOptions options, const Watch& watch) {
  options.stop = watch.begin();
  options.on_progress = [on_plan = watch.on_plan, log = watch.log](const PlanProgress& progress) {
    if (on_plan) on_plan(progress);
    if (!log.enabled()) return;
    log.info(std::to_string(progress.proposals) + " proposals, " + std::to_string(progress.plans) +
             " fit" +
             (progress.best_rating ? ", best " + std::to_string(*progress.best_rating) : ""));
  };
  return options;
}

void log_work(const EmbeddingPlanResult& result, const Log& log) {
  if (!log.enabled()) return;
  log.info("evaluated " + std::to_string(result.num_proposals) + " proposals, " +
           std::to_string(result.num_plans) + " fit");
  const embedding::PlanCopies& copies = result.work.plans;
  log.info("published " + std::to_string(copies.plans) +
           " plans: " + std::to_string(copies.assignments_copied) + " assignments copied with " +
           std::to_string(copies.rank_bytes_copied) + " bytes of ranks, " +
           std::to_string(copies.assignments_shared) + " shared, " +
           std::to_string(copies.nodes_copied) + " tree nodes copied, " +
           std::to_string(copies.options_added) + " options added");
}

Answer plan_answer(std::shared_ptr<const EmbeddingPlanResult> result, const PlanJsonOptions& json,
                   const std::string& problem_name, std::shared_ptr<const PlanDocument> old) {
  Answer answer;
  answer.outcome = outcome_of(*result);
  // Compat mode keeps TorchRec's plan even if it breaks a rule.
  for (const embedding::Violation& violation : result->evaluation.violations)
    answer.warnings.push_back(violation.message);
  if (!result->bound_refusal.empty())
    answer.warnings.push_back("no lower bound is claimed, because " + result->bound_refusal);
  const std::string hint = result->plan ? "" : next_hint(problem_name, *result);
  if (!hint.empty()) answer.hint = "no plan; " + hint;
  answer.write_json = [result, json](const TextSink& sink) {
    write_plan(*result->problem, *result, json, sink);
  };
  answer.text = [result, json, hint](const TextForm& form) {
    return plan_text(*result, json.stats, json.read_s, hint, form);
  };
  answer.summary = summary_text(*result->problem, *result);
  if (const std::string moves = migration_summary(*result->problem, *result); !moves.empty())
    answer.summary += "; " + moves;
  answer.write_page = page_of(result, json.read_s, old);
  answer.plan = std::move(result);
  answer.old_plan = std::move(old);
  return answer;
}

}  // namespace shardwright::commands
