#include "runtime/embedding/resume.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "runtime/embedding/identity.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/questions/old_plan.h"

namespace shardwright {
namespace {

using embedding::Plan;
using embedding::Problem;
using embedding::SearchSpace;
using embedding::TableId;

Status check_resumed(const Problem& problem, const PlanOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  if (options.mode != PlanMode::kBest)
    return Error{ErrorCode::kUnsupported,
                 "goes on with a search of best mode, and compat mode decides all anew; leave it "
                 "out, or use best mode",
                 "resume"};
  if (!problem.topology().layouts().empty())
    return Error{
        ErrorCode::kUnsupported,
        "goes on with one layout of the machine; give one `sharding_group_size` and one `pod_size`",
        "resume"};
  return {};
}

Status check_origin(const Problem& problem, const SearchSpace* given,
                    const PlanDocument& checkpoint) {
  if (!checkpoint.plan) return invalid_input("/plan", "there is no plan to go on from");
  const ProblemIdentity identity = identify(problem, given);
  if (checkpoint.problem_hash == identity.hash) return {};
  return invalid_input("/problem_hash",
                       "made for another problem, which differs in " +
                           differing_parts(checkpoint.problem_parts, identity.parts));
}

// Returns the checkpoint's plan as a plan of `space`.
Result<Plan> plan_of(const PlanDocument& checkpoint,
                     const std::shared_ptr<const SearchSpace>& space) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const embedding::OldPlan old,
                               embedding::OldPlan::make(space, *checkpoint.plan));
  const std::size_t tables = space->problem().tables().size();
  for (std::size_t i = 0; i < tables; ++i) {
    const TableId table(i);
    if (old.assignment(table).option != nullptr && old.in_space(table)) continue;
    return invalid_input("/plan", "table " + quoted(space->problem().table(table).name) +
                                      " has an option or ranks that the search space lacks");
  }
  return Plan::generate(space, tables, [&](std::size_t i) { return old.assignment(TableId(i)); });
}

// Returns the options that best mode chooses from.
Result<std::shared_ptr<const SearchSpace>> options_of(const std::shared_ptr<const Problem>& problem,
                                                      const PlanOptions& options,
                                                      std::shared_ptr<const SearchSpace> space) {
  const embedding::CostModel* const cost_model =
      options.parts == nullptr ? nullptr : options.parts->cost_model.get();
  PlanningExecutor executor(options.threads);
  if (space == nullptr) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(space, embedding::enumerate(problem, executor, {}, cost_model));
  }
  return embedding::with_load_factors(std::move(space), executor, {}, cost_model);
}

}  // namespace

Result<EmbeddingPlanResult> resume_embedding(std::shared_ptr<const Problem> problem,
                                             const PlanDocument& checkpoint,
                                             const PlanOptions& options,
                                             std::shared_ptr<const SearchSpace> search_space) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_resumed(*problem, options));
  SHARDWRIGHT_RETURN_IF_ERROR(check_origin(*problem, search_space.get(), checkpoint));
  const Stopwatch watch;
  const bool given = search_space != nullptr;
  SHARDWRIGHT_ASSIGN_OR_RETURN(search_space, options_of(problem, options, std::move(search_space)));
  SHARDWRIGHT_ASSIGN_OR_RETURN(Plan start, plan_of(checkpoint, search_space));
  PlanOptions resumed = options;
  if (resumed.time_limit_s)
    resumed.time_limit_s = std::max(0.0, *resumed.time_limit_s - watch.seconds());
  resumed.start = std::make_shared<const Plan>(std::move(start));
  const std::optional<std::int64_t>& size = checkpoint.search_space_size;
  const bool same_space = size == static_cast<std::int64_t>(search_space->size());
  if (checkpoint.certificate && same_space)
    resumed.proved = std::make_shared<const embedding::BoundCertificate>(*checkpoint.certificate);
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      EmbeddingPlanResult result,
      plan_embedding(std::move(problem), resumed, std::move(search_space)));
  result.given_search_space = given;
  return result;
}

}  // namespace shardwright
