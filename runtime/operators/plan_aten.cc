#include "runtime/operators/plan_aten.h"

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/execution/planning_executor.h"
#include "runtime/execution/run_limits.h"
#include "runtime/execution/stopwatch.h"

namespace shardwright {
namespace {

using namespace operators;

// No optimizer has more states; larger numbers are mistakes and could overflow sums of bytes.
constexpr std::int64_t kMostOptimizerStates = 100;

Status check_share(std::string_view kind, double share) {
  if (share >= 0 && share <= 1) return {};
  return invalid_input("/overlap/" + std::string(kind), "must be a share from 0 to 1");
}

// A request and the cost models for it.
struct Priced {
  AtenRequest request;
  std::unique_ptr<TransitionModel> transitions;
};

Result<Priced> price(const PlanAtenOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(redistribution::check_mesh(options.mesh));
  if (options.mesh.size() > redistribution::kMaxMeshAxes)
    return invalid_input("/mesh", "a mesh has at most 8 axes");
  if (options.memory_limit && *options.memory_limit < 0)
    return invalid_input("/memory", "must not be negative");
  if (options.optimizer_states < 0 || options.optimizer_states > kMostOptimizerStates)
    return invalid_input("/optimizer_states", "must be between 0 and 100");
  if (!(options.gap >= 0 && options.gap < 1))
    return invalid_input("/gap", "must be at least 0 and below 1");
  if (!options.roles.empty() && options.roles.size() != options.mesh.size()) {
    return invalid_input("/roles", "has " + std::to_string(options.roles.size()) +
                                       " roles, the mesh " + std::to_string(options.mesh.size()) +
                                       (options.mesh.size() == 1 ? " axis" : " axes"));
  }
  SHARDWRIGHT_RETURN_IF_ERROR(check_share("parameters", options.overlap.parameters));
  SHARDWRIGHT_RETURN_IF_ERROR(check_share("gradients", options.overlap.gradients));
  std::optional<ComputeDevice> device = find_compute_device(options.device);
  if (!device) {
    return invalid_input("/device", "unknown device " + quoted(options.device) + "; known are " +
                                        compute_device_names());
  }
  if (!options.operator_times.empty()) {
    auto times = OperatorTimes::make(options.operator_times);
    if (!times.ok()) {
      return Error{times.error().code, times.error().message,
                   "/operator_times" + times.error().where};
    }
    device->measured = std::make_shared<const OperatorTimes>(*std::move(times));
  }
  TransitionModelOptions transitions;
  transitions.choice = options.redistribution;
  transitions.memory_bytes_per_second = device->memory_bytes_per_second;
  SHARDWRIGHT_ASSIGN_OR_RETURN(transitions.collectives,
                               make_collectives(options.collectives, options.mesh, options.device));
  const bool has_roles = std::any_of(options.roles.begin(), options.roles.end(),
                                     [](AxisRole role) { return role != AxisRole::kFree; });
  return Priced{
      {options.mesh, *device, options.memory_limit, options.optimizer_states, options.backend,
       options.overlap, has_roles ? BlockSharing::kEqual : options.blocks, options.constraints,
       has_roles ? options.roles : AxisRoles()},
      std::make_unique<TransitionModel>(std::move(transitions))};
}

// Adds what reports say of the plan.
void describe_plan(const AtenGraph& graph, const Priced& priced, AtenPlanResult& result) {
  for (const AtenMove& move : moves_of(graph, *result.plan, *priced.transitions)) {
    for (const redistribution::PathStep& step : move.path.steps)
      result.moving_us[static_cast<std::size_t>(step.move.kind)] += step.cost;
  }
  result.at_peak = memory_by_moment(graph, *result.plan,
                                    priced.request.optimizer_states)[result.evaluation.peak_moment];
}

// Plans with the roles of `options`.
Result<AtenPlanResult> plan_with_roles(const AtenGraph& graph, const PlanAtenOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_run_limits(options.limits.threads, options.limits.time_limit_s));
  const Stopwatch watch;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Priced priced, price(options));
  Budget budget(options.limits.work_limit, options.limits.time_limit_s, options.limits.stop);
  PlanningExecutor executor(options.limits.threads);
  ProblemSolveOptions solving;
  solving.seed = options.limits.seed;
  solving.gap = options.gap;
  if (options.limits.on_progress) {
    solving.on_progress = [&](const SolutionProgress& progress) {
      options.limits.on_progress(OperatorsProgress{progress, watch.seconds()});
    };
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      AtenSolution solution,
      solve_plan(graph, priced.request, *priced.transitions, executor, budget, solving));
  AtenPlanResult result;
  static_cast<AtenSolution&>(result) = std::move(solution);
  result.roles = priced.request.roles;
  if (result.plan) describe_plan(graph, priced, result);
  result.work = budget.work_done();
  result.threads = static_cast<int>(executor.workers());
  result.total_s = watch.seconds();
  return result;
}

}  // namespace

bool is_faster(const AtenPlanResult& a, const AtenPlanResult& b) {
  if (a.plan.has_value() != b.plan.has_value()) return a.plan.has_value();
  return a.plan && a.evaluation.total_us() < b.evaluation.total_us();
}

Result<std::vector<AtenPlanResult>> plan_expressible(const AtenGraph& graph,
                                                     const PlanAtenOptions& options) {
  constexpr double kLeastSeconds =
      1e-3;  // of a plan after the time limit, which then stops at once
  const Stopwatch watch;
  std::vector<AtenPlanResult> found;
  std::vector<AxisRoles> all{AxisRoles()};
  for (AxisRoles& roles : expressible_roles(options.mesh.size()))
    all.push_back(std::move(roles));
  for (AxisRoles& roles : all) {
    PlanAtenOptions with = options;
    with.roles = roles;
    if (const std::optional<double>& limit = options.limits.time_limit_s; limit && !found.empty())
      with.limits.time_limit_s = std::max(kLeastSeconds, *limit - watch.seconds());
    Result<AtenPlanResult> result = plan_with_roles(graph, with);
    if (result.ok()) {
      found.push_back(*std::move(result));
    } else if (result.error().code == ErrorCode::kInfeasible) {
      found.emplace_back().status = SolveStatus::kInfeasible;
    } else {
      return result.error();
    }
    found.back().roles = std::move(roles);
    found.back().free_bound_us = found.front().lower_bound_us;
  }
  return found;
}

Result<AtenPlanResult> plan_aten(const AtenGraph& graph, const PlanAtenOptions& options) {
  if (!options.expressible) return plan_with_roles(graph, options);
  if (!options.roles.empty())
    return invalid_input("/roles", "are found by `expressible`; give only one of both");
  const Stopwatch watch;
  SHARDWRIGHT_ASSIGN_OR_RETURN(std::vector<AtenPlanResult> found, plan_expressible(graph, options));
  if (found.size() == 1) {
    return invalid_input("/mesh", "a program has at most three axes: replicate, shard and tensor");
  }
  AtenPlanResult best = *std::min_element(found.begin() + 1, found.end(), is_faster);
  best.total_s = watch.seconds();
  return best;
}

Result<std::vector<AtenMove>> aten_moves(const AtenGraph& graph, const PlanAtenOptions& options,
                                         const AtenPlan& plan) {
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Priced priced, price(options));
  return moves_of(graph, plan, *priced.transitions);
}

Result<OperatorProblem> build_aten(const AtenGraph& graph, const PlanAtenOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_run_limits(options.limits.threads, options.limits.time_limit_s));
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Priced priced, price(options));
  PlanningExecutor executor(options.limits.threads);
  SHARDWRIGHT_ASSIGN_OR_RETURN(const AtenModel model,
                               build_model(graph, priced.request, *priced.transitions, executor));
  return lower(model, all_choices(model), options.memory_limit);
}

}  // namespace shardwright
