// The public entry for graphs of PyTorch operators: chooses how every tensor is sharded on a mesh.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "runtime/operators/collective_model.h"
#include "runtime/operators/solve.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/solve_plan.h"
#include "search/operators/aten/transition_model.h"

namespace shardwright {

struct PlanAtenOptions {
  redistribution::MeshShape mesh;
  std::string device = "H100";  // see operators::find_compute_device()
  operators::RedistributionChoice redistribution = operators::RedistributionChoice::kShortest;
  CollectiveModel collectives;
  std::optional<std::int64_t> memory_limit;  // bytes per device
  std::int64_t optimizer_states = 2;         // per parameter, each of the parameter's size
  operators::CollectiveBackend backend = operators::CollectiveBackend::kNccl;
  operators::OverlapShares overlap;  // of collectives with computation
  operators::BlockSharing blocks = operators::BlockSharing::kFree;
  std::vector<operators::AtenConstraint> constraints;
  std::vector<operators::OperatorTime> operator_times;  // measured; replace estimates
  OperatorsOptions limits;
};

struct AtenPlanResult : operators::AtenSolution {
  std::uint64_t work = 0;  // strategy evaluations
  int threads = 1;
  double total_s = 0;
};

// Plans a training step. If no plan fits the memory, the status says so. Errors: kInvalidInput at
// "/mesh", "/device", "/collectives/...", "/memory", "/optimizer_states", "/overlap/...",
// "/operator_times/<row>", "/placements/<kind>/<target>", "threads", "time_limit"; as
// operators::solve_plan(). Thread safety: may be called from any number of threads at once.
Result<AtenPlanResult> plan_aten(const operators::AtenGraph& graph, const PlanAtenOptions& options);

// Returns the collectives that move the tensors of `plan`. Precondition: `plan` is an answer to
// these options. Errors: as plan_aten().
Result<std::vector<operators::AtenMove>> aten_moves(const operators::AtenGraph& graph,
                                                    const PlanAtenOptions& options,
                                                    const operators::AtenPlan& plan);

// Returns the problem that plan_aten() solves: the strategies of all operators, and the costs of
// moving tensors between strategies. Errors: as plan_aten().
Result<operators::OperatorProblem> build_aten(const operators::AtenGraph& graph,
                                              const PlanAtenOptions& options);

}  // namespace shardwright
