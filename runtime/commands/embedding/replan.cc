// shardwright replan
#include <memory>
#include <optional>
#include <utility>

#include "runtime/commands/embedding/embedding_commands.h"
#include "runtime/commands/embedding/plan_answer.h"
#include "runtime/embedding/replan.h"
#include "runtime/embedding/reuse.h"

namespace shardwright::commands {

Result<Answer> answer(const ReplanRequest& request, const Watch& watch) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(PlanDocument old, load_plan(request.plan, watch));
  if (!old.plan) {
    return request.plan.locate(
        invalid_input("", "the file holds no plan to begin with; use `shardwright plan`"));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(const LoadedProblem loaded, load_for(request.problem, old, watch));
  ReplanOptions options{request.options, request.migration_weight, std::nullopt};
  options.best_mode_rating = best_mode_rating(*loaded.problem, loaded.search_space.get(), old);
  options.plan = watched(request.options, watch);
  Result<EmbeddingPlanResult> result =
      replan_embedding(loaded.problem, *old.plan, options, loaded.search_space);
  if (!result.ok()) {
    const bool in_plan = result.error().where.starts_with("/plan/");
    return (in_plan ? request.plan : request.problem.problem).locate(result.error());
  }
  log_work(*result, watch.log);
  return plan_answer(std::make_shared<const EmbeddingPlanResult>(std::move(result).value()),
                     json_options(request.contents, request.options, loaded),
                     request.problem.problem.name(),
                     std::make_shared<const PlanDocument>(std::move(old)));
}

}  // namespace shardwright::commands
