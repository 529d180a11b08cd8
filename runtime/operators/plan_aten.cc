#include "runtime/operators/plan_aten.h"

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
  return Priced{{options.mesh, *device, options.memory_limit, options.optimizer_states,
                 options.backend, options.overlap, options.blocks, options.constraints},
                std::make_unique<TransitionModel>(std::move(transitions))};
}

}  // namespace

Result<AtenPlanResult> plan_aten(const AtenGraph& graph, const PlanAtenOptions& options) {
  SHARDWRIGHT_RETURN_IF_ERROR(
      check_run_limits(options.limits.threads, options.limits.time_limit_s));
  const Stopwatch watch;
  SHARDWRIGHT_ASSIGN_OR_RETURN(const Priced priced, price(options));
  Budget budget(options.limits.work_limit, options.limits.time_limit_s, options.limits.stop);
  PlanningExecutor executor(options.limits.threads);
  ProblemSolveOptions solving;
  solving.seed = options.limits.seed;
  if (options.limits.on_progress) {
    solving.on_progress = [&](const SolutionProgress& progress) {
      options.limits.on_progress(OperatorsProgress{progress, watch.seconds()});
    };
  }
  SHARDWRIGHT_ASSIGN_OR_RETURN(
      AtenSolution solution,
      solve_plan(graph, priced.request, *priced.transitions, executor, budget, solving));
  AtenPlanResult result{std::move(solution)};
  result.work = budget.work_done();
  result.threads = static_cast<int>(executor.workers());
  result.total_s = watch.seconds();
  return result;
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
