// shardwright plan
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/commands/embedding/plan_answer.h"
#include "runtime/embedding/planner.h"
#include "runtime/embedding/reuse.h"

namespace shardwright::commands {
namespace {

// The plan of the request's `reuse`, if that holds. Otherwise `why_not` says why not.
Result<std::optional<EmbeddingPlanResult>> reused(const PlanRequest& request,
                                                  const LoadedProblem& loaded,
                                                  std::string& why_not) {
  if (!request.reuse.given()) return std::optional<EmbeddingPlanResult>();
  SHARDWRIGHT_ASSIGN_OR_RETURN(const PlanDocument document, load_plan(request.reuse));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      Reuse reuse, reuse_plan(loaded.problem, document, request.options.mode, loaded.search_space));
  if (!reuse.result) why_not = request.reuse.name() + " is not reused: " + reuse.why_not;
  return std::move(reuse.result);
}

}  // namespace

Result<Answer> answer(const PlanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded, load(request.problem, watch.log));
  std::string why_not;
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::optional<EmbeddingPlanResult> result,
                               reused(request, loaded, why_not));
  if (!result) {
    Result<EmbeddingPlanResult> planned =
        plan_embedding(loaded.problem, watched(request.options, watch), loaded.search_space);
    if (!planned.ok()) return request.problem.problem.locate(planned.error());
    result = std::move(planned).value();
  }
  log_work(*result, watch.log);
  Answer planned = plan_answer(std::make_shared<const EmbeddingPlanResult>(std::move(*result)),
                               json_options(request.contents, request.options, loaded),
                               request.problem.problem.name());
  if (!why_not.empty()) planned.warnings.insert(planned.warnings.begin(), why_not);
  return planned;
}

}  // namespace shardwright::commands
