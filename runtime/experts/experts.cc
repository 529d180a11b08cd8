#include "runtime/experts/experts.h"

#include <numeric>
#include <utility>

#include "core/experts/link_cost.h"
#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "search/experts/eplb.h"

namespace shardwright {

using namespace experts;

namespace {

double sum(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

double time_of(const ExpertProblem& problem, const Placement& placement, Over over) {
  const std::vector<double> busiest = busiest_times(problem, placement);
  return sum(over_windows(problem, busiest, over, worst_window(problem, busiest)));
}

Status check_old(const ExpertProblem& problem, const ExpertsOptions& options) {
  if (options.rules.terms.old.empty()) return {};
  Status status = check_slots(problem, options.rules.terms.old, ErrorCode::kInvalidInput);
  if (status.ok()) return status;
  Error error = status.error();
  error.where.replace(0, std::string_view("/physical_to_logical").size(), "/old");
  return error;
}

ExpertsAnswer compared(const ExpertProblem& problem, PlannedExperts planned) {
  ExpertsAnswer answer;
  answer.planned = std::move(planned);
  const PlanTerms& terms = answer.planned.terms;
  answer.eplb_time = time_of(problem, terms.eplb, terms.over);
  if (!terms.old.empty()) answer.old_time = time_of(problem, terms.old, terms.over);
  answer.mean_time = sum(answer.planned.plan.mean_load);
  answer.bound = sum(answer.planned.plan.lower_bound);
  if (!problem.spec().link_costs.empty())
    answer.link_cost_before = link_cost(problem, terms.old.empty() ? terms.eplb : terms.old);
  return answer;
}

Result<ExpertsAnswer> plan_within(const ExpertProblem& problem, const ExpertsOptions& options,
                                  Executor& executor, const Budget& budget) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_old(problem, options));
  PlannedExperts planned = options.compat ? plan_eplb(problem, options.rules, executor, budget)
                                          : plan_best(problem, options.rules, executor, budget);
  if (options.rules.max_moves && planned.plan.moved > *options.rules.max_moves) {
    return Error{ErrorCode::kInfeasible,
                 "the old placement breaks a rule, and the fewest moves found that keep all are " +
                     std::to_string(planned.plan.moved),
                 "max_moves"};
  }
  return compared(problem, std::move(planned));
}

}  // namespace

Result<ExpertsAnswer> plan_experts(const ExpertProblem& problem, const ExpertsOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  PlanningExecutor executor(options.threads);
  const Budget budget(std::nullopt, options.time_limit_s, options.stop);
  return plan_within(problem, options, executor, budget);
}

Result<ExpertsAnswer> verify_experts(const ExpertProblem& problem, ExpertPlan plan,
                                     const ExpertsOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_old(problem, options));
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  PlanningExecutor executor(options.threads);
  PlannedExperts planned;
  planned.terms = options.rules.terms;
  planned.terms.eplb = place_eplb(problem, executor);
  SHARDWRIGHT_RETURN_IF_ERROR(check_plan(problem, plan, planned.terms));
  planned.plan = std::move(plan);
  return compared(problem, std::move(planned));
}

Result<ExpertsSweep> sweep_experts(const ExpertSpec& spec, const std::vector<std::int64_t>& gpus,
                                   const std::vector<std::int64_t>& slots,
                                   const ExpertsOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_run_limits(options.threads, options.time_limit_s));
  PlanningExecutor executor(options.threads);
  const Budget budget(std::nullopt, options.time_limit_s, options.stop);
  ExpertsSweep sweep;
  std::optional<Error> refused;
  for (const std::int64_t num_gpus : gpus) {
    for (const std::int64_t num_slots : slots) {
      if (budget.interrupted() && !sweep.points.empty()) break;
      ExpertSpec of_point = spec;
      of_point.num_gpus = static_cast<std::size_t>(num_gpus);
      of_point.num_slots = static_cast<std::size_t>(num_slots);
      Result<ExpertProblem> point = ExpertProblem::make(std::move(of_point));
      if (!point.ok()) {
        refused = point.error();
        ++sweep.left_out;
        continue;
      }
      SHARDWRIGHT_ASSIGN_OR_RETURN(const ExpertsAnswer answer,
                                   plan_within(*point, options, executor, budget));
      sweep.points.push_back({point->num_gpus(), point->num_slots(),
                              sum(answer.planned.plan.max_load), answer.mean_time, answer.bound});
    }
  }
  if (sweep.points.empty() && refused) return *refused;
  sweep.stop = budget.interrupted().value_or(StopReason::kFinished);
  return sweep;
}

}  // namespace shardwright
