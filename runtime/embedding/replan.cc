#include "runtime/embedding/replan.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

#include "core/embedding/bound/check_bound.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/embedding/compat/proposal_lane.h"
#include "search/embedding/questions/old_plan.h"
#include "search/embedding/questions/replan_search.h"

namespace shardwright {
namespace {

using embedding::OldPlan;
using embedding::Plan;
using embedding::Problem;
using embedding::ReplanSearch;
using embedding::SearchSpace;

void take_best(const ReplanSearch::Best& best, EmbeddingPlanResult& result) {
  result.failure.reset();
  result.plan = best.plan;
  result.evaluation = best.evaluation;
  result.best_rating = best.evaluation.rating;
  // The bound covers only the search space, but the old plan may have an option outside it.
  if (result.lower_bound && *result.lower_bound > *result.best_rating) {
    result.lower_bound.reset();
    result.certificate.reset();
  }
}

// Returns the work limit that the planner and the search that weighs moves share.
std::optional<std::uint64_t> whole_work_limit(const PlanOptions& options) {
  if (options.work_limit || options.time_limit_s) return options.work_limit;
  return kDefaultBestWork;
}

// With a weight, the planner gets half of the budget.
PlanOptions for_planner(const ReplanOptions& options) {
  PlanOptions planning = options.plan;
  if (options.migration_weight == 0) return planning;
  if (planning.mode == PlanMode::kBest) planning.work_limit = whole_work_limit(options.plan);
  if (planning.work_limit) *planning.work_limit /= 2;
  if (planning.time_limit_s) *planning.time_limit_s /= 2;
  return planning;
}

// The search that weighs moves gets the work that best mode's planner left. After compat mode,
// whose work has another unit, it gets half of the limit. Without a weight its work is additional,
// since the planner may have spent all.
Budget rest_of_budget(const ReplanOptions& options, const EmbeddingPlanResult& planned) {
  constexpr std::uint64_t kWorkAmongEqual = 20'000'000;  // about 0.2 s
  std::optional<std::uint64_t> work = whole_work_limit(options.plan);
  if (options.migration_weight == 0) {
    work = std::min(work.value_or(kWorkAmongEqual), kWorkAmongEqual);
  } else if (work && options.plan.mode == PlanMode::kBest) {
    *work -= std::min(*work, planned.work.work_steps);
  } else if (work) {
    *work /= 2;
  }
  std::optional<double> seconds = options.plan.time_limit_s;
  if (seconds) *seconds = std::max(*seconds - planned.timing.total_s, 0.0);
  return Budget(work, seconds, options.plan.stop);
}

// A bound on the cost without a certificate is lowered to the bound on ratings, which has one.
void limit_bound(EmbeddingPlanResult& result) {
  Migration& migration = *result.migration;
  if (!migration.lower_bound || migration.certificate) return;
  migration.lower_bound = std::min(*migration.lower_bound, result.lower_bound.value_or(0));
}

// Notes what stopped the search that weighs moves, if nothing stopped the planner.
void note_stop(const Budget& budget, EmbeddingPlanResult& result) {
  const Migration& migration = *result.migration;
  if (!migration.objective || result.stopped_by != StopReason::kFinished) return;
  if (gap(*migration.objective, migration.lower_bound.value_or(0)) <= kProvenGap) return;
  result.stopped_by = budget.interrupted().value_or(StopReason::kWorkLimit);
}

// Returns a lower bound on the rating of every plan; infinity if no plan exists.
double rating_bound(const EmbeddingPlanResult& planned) {
  constexpr double kNoPlan = std::numeric_limits<double>::infinity();
  if (!planned.failure) return planned.lower_bound.value_or(0);
  switch (planned.failure->reason) {
    case FailureReason::kTableFitsNowhere:
    case FailureReason::kNotEnoughMemory:
    case FailureReason::kPlacementRules:
    case FailureReason::kNoPlanExists:
      return kNoPlan;
    default:
      return 0;
  }
}

embedding::ReplanGoal goal_of(const ReplanOptions& options) {
  return {options.migration_weight, options.best_mode_rating, kProvenGap, options.plan.seed};
}

// Searches between the old plan and the plans that `search` knows, and completes the result.
EmbeddingPlanResult weigh_moves(ReplanSearch& search, Budget budget, EmbeddingPlanResult result) {
  if (const ReplanSearch::Best* const best =
          search.finish(result.plan, rating_bound(result), budget)) {
    take_best(*best, result);
  }
  result.work.work_steps += budget.work_done();
  result.work.plans += search.copies();
  result.migration = search.migration(result.plan);
  limit_bound(result);
  note_stop(budget, result);
  return result;
}

// Plans with the old plan kept as the start, then searches between it and the plans found.
Result<EmbeddingPlanResult> replan_from(OldPlan old, std::shared_ptr<const Problem> problem,
                                        const ReplanOptions& options,
                                        std::shared_ptr<const SearchSpace> space) {
  Result<embedding::Reservation> reservation = reserve_embedding(*problem);
  if (!reservation.ok()) {
    if (reservation.error().code != ErrorCode::kInfeasible) return reservation.error();
    return plan_embedding(std::move(problem), options.plan, std::move(space));
  }
  ReplanSearch search(problem, space, reservation->topology, std::move(old), goal_of(options));
  PlanOptions planning = for_planner(options);
  if (search.can_start()) planning.start = std::make_shared<const Plan>(*search.kept());
  // Without a weight only the planner's last and best plan can be the answer.
  if (options.migration_weight > 0)
    planning.on_better_plan = [&](const Plan& plan) { search.consider(plan); };
  SHARDWRIGHT_ASSIGN_OR_RETURN(EmbeddingPlanResult result,
                               plan_embedding(std::move(problem), planning, std::move(space)));
  Budget budget = rest_of_budget(options, result);
  return weigh_moves(search, std::move(budget), std::move(result));
}

}  // namespace

Result<EmbeddingPlanResult> replan_embedding(std::shared_ptr<const Problem> problem,
                                             const std::vector<PlanEntry>& old,
                                             const ReplanOptions& options,
                                             std::shared_ptr<const SearchSpace> search_space) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.plan.threads, options.plan.time_limit_s));
  if (!(options.migration_weight >= 0) || !std::isfinite(options.migration_weight)) {
    return invalid_input("migration_weight", "must be a number of ms per GiB, zero or above");
  }
  if (options.plan.exchange != nullptr)
    return Error{ErrorCode::kUnsupported, "one process plans anew", "exchange"};
  const bool given = search_space != nullptr;
  const embedding::CostModel* const cost_model =
      options.plan.parts == nullptr ? nullptr : options.plan.parts->cost_model.get();
  const Stopwatch watch;
  PlanningExecutor executor(options.plan.threads);
  if (!given) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(search_space,
                                 embedding::enumerate(problem, executor, {}, cost_model));
  }
  if (options.plan.mode == PlanMode::kBest) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(
        search_space,
        embedding::with_load_factors(std::move(search_space), executor, {}, cost_model));
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(OldPlan matched, OldPlan::make(search_space, old));
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      EmbeddingPlanResult result,
      replan_from(std::move(matched), std::move(problem), options, std::move(search_space)));
  result.given_search_space = given;
  result.timing.total_s = watch.seconds();
  return result;
}

Result<EmbeddingPlanResult> replan_again(const EmbeddingPlanResult& planned,
                                         const std::vector<PlanEntry>& old,
                                         std::span<const Plan> starts, const ReplanOptions& options,
                                         std::int64_t most_bytes) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(OldPlan matched, OldPlan::make(planned.search_space, old));
  embedding::ReplanGoal goal = goal_of(options);
  goal.most_bytes = most_bytes;
  ReplanSearch search(planned.problem, planned.search_space, planned.reservation->topology,
                      std::move(matched), goal);
  for (const Plan& start : starts)
    search.consider(start);
  EmbeddingPlanResult result = planned;
  result.work = {};
  result.stopped_by = StopReason::kFinished;
  return weigh_moves(search,
                     Budget(options.plan.work_limit, options.plan.time_limit_s, options.plan.stop),
                     std::move(result));
}

Result<Migration> migration_from(std::shared_ptr<const Problem> problem,
                                 std::shared_ptr<const SearchSpace> search_space,
                                 const embedding::Topology& available,
                                 const std::vector<PlanEntry>& old, const std::optional<Plan>& plan,
                                 double migration_weight) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(OldPlan matched, OldPlan::make(search_space, old));
  const ReplanSearch search(std::move(problem), std::move(search_space), available,
                            std::move(matched), {migration_weight, std::nullopt, kProvenGap});
  return search.migration(plan);
}

Result<std::optional<std::string>> check_migration_bound(
    const std::shared_ptr<const SearchSpace>& search_space, const embedding::Topology& available,
    const std::vector<PlanEntry>& old, double migration_weight,
    const embedding::BoundCertificate& certificate, const Budget& budget) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const OldPlan matched, OldPlan::make(search_space, old));
  return embedding::check_move_bound(*search_space, available, matched.held(migration_weight),
                                     certificate, embedding::kAnySteps,
                                     [&] { return budget.interrupted().has_value(); });
}

}  // namespace shardwright
