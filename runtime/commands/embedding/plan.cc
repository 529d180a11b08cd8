// shardwright plan
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/commands/embedding/plan_answer.h"
#include "runtime/embedding/checkpoint/resume.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/reuse.h"
#include "runtime/execution/stopwatch.h"
#include "search/budget.h"

namespace shardwright::commands {
namespace {

// The file, if there is one.
Result<std::optional<PlanDocument>> given_plan(const Input& file, const Watch& watch) {
  if (!file.given()) return std::optional<PlanDocument>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument document, load_plan(file, watch));
  return std::optional(std::move(document));
}

// The plan of the request's `reuse`, if that holds. Otherwise `why_not` says why not. The check has
// half of the time, and the search what is left. Several processes must decide alike, so that only
// one alone hears limits.
Result<std::optional<EmbeddingPlanResult>> reused(const PlanRequest& request,
                                                  const PlanDocument& document,
                                                  const LoadedProblem& loaded,
                                                  const PlanOptions& options, const Watch& watch,
                                                  std::string& why_not) {
  std::optional<double> seconds = options.time_limit_s;
  if (seconds) *seconds /= 2;
  const Budget budget =
      watch.exchange == nullptr ? Budget(std::nullopt, seconds, options.stop) : Budget();
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      Reuse reuse, reuse_plan(loaded.problem, document, options.mode, loaded.search_space, budget));
  if (!reuse.result) why_not = (request.reuse.is_text() ? "the plan" : request.reuse.name()) + " is not reused: " + reuse.why_not;
  return std::move(reuse.result);
}

// One process chooses the layout of a machine; the others have nothing to do meanwhile.
bool is_shared(const LoadedProblem& loaded, const Watch& watch) {
  return watch.exchange != nullptr && loaded.problem->topology().layouts().empty();
}

Error located(const Error& error, const PlanRequest& request) {
  const bool in_checkpoint = request.resume.given() &&
                             (error.where.starts_with("/plan") || error.where == "/problem_hash");
  return (in_checkpoint ? request.resume : request.problem.problem).locate(error);
}

Result<EmbeddingPlanResult> search(const PlanRequest& request, const LoadedProblem& loaded,
                                   const std::optional<PlanDocument>& checkpoint,
                                   PlanOptions options, const Watch& watch) {
  if (is_shared(loaded, watch)) options.exchange = watch.exchange;
  if (watch.on_checkpoint) {
    options.on_checkpoint = [&](const EmbeddingPlanResult& at) {
      watch.on_checkpoint(at, loaded.read_s);
    };
  }
  Result<EmbeddingPlanResult> result =
      checkpoint ? resume_embedding(loaded.problem, *checkpoint, options, loaded.search_space)
                 : plan_embedding(loaded.problem, options, loaded.search_space);
  if (!result.ok()) return located(result.error(), request);
  return result;
}

}  // namespace

Result<Answer> answer(const PlanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded, load(request.problem, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto to_reuse, given_plan(request.reuse, watch));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const auto checkpoint, given_plan(request.resume, watch));
  PlanOptions options = watched(request.options, watch);
  const Stopwatch since_begin;
  std::string why_not;
  std::optional<EmbeddingPlanResult> result;
  if (to_reuse) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(result,
                                 reused(request, *to_reuse, loaded, options, watch, why_not));
  }
  if (!result) {
    if (!watch.is_first_process && !is_shared(loaded, watch)) return Answer();
    if (options.time_limit_s)
      options.time_limit_s = std::max(0.0, *options.time_limit_s - since_begin.seconds());
    SHARDWRIGHT_ASSIGN_OR_RETURN(result,
                                 search(request, loaded, checkpoint, std::move(options), watch));
  }
  log_work(*result, watch.log);
  Answer planned = plan_answer(std::make_shared<const EmbeddingPlanResult>(std::move(*result)),
                               json_options(request.contents, request.options, loaded),
                               request.problem.problem.name());
  if (!why_not.empty()) planned.warnings.insert(planned.warnings.begin(), why_not);
  return planned;
}

}  // namespace shardwright::commands
