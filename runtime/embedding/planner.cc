#include "runtime/embedding/planner.h"

#include <optional>
#include <string>
#include <utility>

#include "runtime/embedding/plan_layouts.h"
#include "runtime/embedding/planning.h"
#include "runtime/embedding/portfolio.h"
#include "runtime/embedding/stages.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"
#include "search/embedding/compat/embedding_enumerator.h"
#include "search/embedding/compat/load_factor_options.h"
#include "search/embedding/compat/storage_reservations.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright {
namespace {

using embedding::OptionPool;
using embedding::Problem;
using embedding::SearchSpace;

// Refuses a request that its mode does not support.
Status check_request(const Problem& problem, const PlanOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  if (options.lanes < embedding::kLeastLanes || options.lanes > embedding::kMostLanes) {
    return invalid_input("lanes", "must be between " + std::to_string(embedding::kLeastLanes) +
                                      " and " + std::to_string(embedding::kMostLanes));
  }
  if (options.mode == PlanMode::kCompat) {
    if (options.lanes != embedding::kDefaultLanes)
      return invalid_input("lanes",
                           "are searches of best mode, and compat mode has one; leave them out");
    if (options.on_checkpoint)
      return invalid_input(
          "checkpoint",
          "keeps what best mode has found, and compat mode has nothing to keep; leave it out");
    SHARDWRIGHT_RETURN_IF_ERROR(check_listed_load_factors(problem));
    return check_compat_mode(problem);
  }
  if (options.parts == nullptr || !options.parts->rating_model) return {};
  return Error{ErrorCode::kUnsupported,
               "best mode minimises what the problem's perf_model says; use compat mode with a "
               "rating model of your own",
               "parts.rating_model"};
}

// Subtracts the reservation from the topology. If the reservation takes more than a rank has,
// returns false and sets `failure` in the result.
Result<bool> reserve_memory(Planning& planning) {
  const Stopwatch watch;
  Result<embedding::Reservation> reserved = embedding::reserve(*planning.problem);
  planning.result.timing.reserve_s = watch.seconds();
  if (reserved.ok()) {
    planning.result.reservation = *std::move(reserved);
    return true;
  }
  if (reserved.error().code != ErrorCode::kInfeasible) return reserved.error();
  planning.result.failure = negative_reservation(reserved.error());
  return false;
}

// Returns the options that the mode chooses from. Best mode adds caches of other sizes.
Result<std::shared_ptr<const SearchSpace>> options_of_mode(Planning& planning) {
  std::shared_ptr<const SearchSpace> space = planning.space;
  const embedding::CostModel* const cost_model = planning.parts().cost_model.get();
  if (space == nullptr) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(space, embedding::enumerate(planning.problem, planning.executor,
                                                             planning.budget, cost_model));
  }
  if (planning.options.mode == PlanMode::kBest)
    return embedding::with_load_factors(space, planning.executor, planning.budget, cost_model);
  return declared_part(space);
}

// Makes the sharding options with their costs, or takes the caller's. Returns false if the budget
// was interrupted before all tables had options.
Result<bool> enumerate_options(Planning& planning) {
  const Stopwatch watch;
  auto space = options_of_mode(planning);
  if (!space.ok()) {
    if (space.error().code != ErrorCode::kStopped) return space.error();
    if (const auto reason = planning.budget.interrupted()) planning.result.stopped_by = *reason;
    return false;
  }
  planning.space = std::move(space).value();
  planning.result.search_space = planning.space;
  planning.result.timing.enumerate_s = watch.seconds();
  return true;
}

// Searches by mode. Leaves in the result a plan that the verifier evaluated, or the reason why
// there is none. Best mode also leaves a certificate that the check of core accepts.
Status search_plans(Planning& planning) {
  const Stopwatch watch;
  OptionPool pool(planning.space, planning.executor, planning.budget);
  if (const auto reason = planning.budget.interrupted()) {
    planning.result.stopped_by = *reason;
    return {};
  }
  if (!pool.totals_fit()) {
    return invalid_input("/tables",
                         "the shards of all tables together would take more than 2^62 bytes; check "
                         "rows, pooling factors and the batch size");
  }
  if (planning.space->size() == 0) {
    planning.keep(embedding::Plan(), 0);  // no tables: an empty plan
  } else if (planning.options.mode == PlanMode::kCompat) {
    SHARDWRIGHT_RETURN_IF_ERROR(check_proposers(*planning.space));
    search_compat(planning, pool, planning.budget);
  } else {
    SHARDWRIGHT_RETURN_IF_ERROR(search_best(planning, pool));
  }
  planning.result.timing.explore_s = watch.seconds();
  planning.result.work.work_steps = planning.budget.work_done();
  planning.result.work.plans.options_added = pool.num_added();
  return {};
}

}  // namespace

Result<EmbeddingPlanResult> plan_embedding(std::shared_ptr<const Problem> problem,
                                           const PlanOptions& options,
                                           std::shared_ptr<const SearchSpace> search_space) {
  if (options.exchange != nullptr)
    return plan_portfolio(std::move(problem), options, std::move(search_space));
  SHARDWRIGHT_RETURN_IF_ERROR(check_request(*problem, options));
  if (!problem->topology().layouts().empty() && search_space == nullptr)
    return plan_layouts(problem, options);
  Planning planning(std::move(problem), options, std::move(search_space));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const bool has_memory, reserve_memory(planning));
  if (has_memory) {
    SHARDWRIGHT_ASSIGN_OR_RETURN(const bool has_options, enumerate_options(planning));
    if (has_options) {
      std::optional<EmbeddingPlanResult> start = take_start(planning);
      SHARDWRIGHT_RETURN_IF_ERROR(search_plans(planning));
      if (start) keep_start(*std::move(start), planning.result);
    }
  }
  planning.result.threads = static_cast<int>(planning.executor.workers());
  planning.result.timing.total_s = planning.total.seconds();
  return std::move(planning.result);
}

Result<std::shared_ptr<const SearchSpace>> enumerate_embedding(
    std::shared_ptr<const Problem> problem, const embedding::CostModel* cost_model) {
  PlanningExecutor executor(0);
  return embedding::enumerate(std::move(problem), executor, {}, cost_model);
}

Result<std::shared_ptr<const SearchSpace>> best_mode_options(
    std::shared_ptr<const SearchSpace> declared, const embedding::CostModel* cost_model) {
  PlanningExecutor executor(0);
  return embedding::with_load_factors(std::move(declared), executor, {}, cost_model);
}

Result<embedding::Reservation> reserve_embedding(const Problem& problem) {
  return embedding::reserve(problem);
}

}  // namespace shardwright
