// The public entry for graphs of PyTorch operators: chooses how every tensor is sharded on a mesh.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/operators/aten/aten_graph.h"
#include "core/redistribution/placement/move.h"
#include "runtime/operators/collective_model.h"
#include "runtime/operators/solve.h"
#include "search/operators/aten/aten_model.h"
#include "search/operators/aten/solve_plan.h"
#include "search/operators/aten/transition_model.h"

namespace shardwright {

// A known way to shard a model, for comparison: its mesh, roles and placements are given, and all
// else is planned as well as possible, which favours it.
struct AtenBaseline {
  std::string name;
  redistribution::MeshShape mesh;
  operators::AxisRoles roles;
  std::vector<operators::AtenConstraint> constraints;
};

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
  // The search ends once its plan exceeds the bound of all plans by at most this fraction.
  double gap = 0.001;
  // By axis; empty if all are free. With roles, repeated blocks are sharded alike, so that a
  // program has one style for each kind of module.
  operators::AxisRoles roles;
  // Tries all expressible_roles() instead, and finds a bound of all plans without roles.
  bool expressible = false;
  std::vector<AtenBaseline> baselines;  // that sweeps add
  OperatorsOptions limits;
};

struct AtenPlanResult : operators::AtenSolution {
  operators::AxisRoles roles;           // those asked for, or the best expressible ones
  std::optional<double> free_bound_us;  // with `expressible`: no plan at all is faster
  // With a plan: microseconds of its moves by Move::Kind, and the memory at its peak.
  std::array<double, redistribution::Move::kNumKinds> moving_us{};
  operators::AtenMemory at_peak;
  std::uint64_t work = 0;  // strategy evaluations
  int threads = 1;
  double total_s = 0;
};

// Plans a training step. If no plan fits the memory, the status says so. Errors: kInvalidInput at
// "/mesh", "/device", "/collectives/...", "/memory", "/optimizer_states", "/overlap/...",
// "/operator_times/<row>", "/placements/<kind>/<target>", "/gap", "/roles", "threads",
// "time_limit"; as operators::solve_plan(). Thread safety: may be called from any number of threads
// at once.
Result<AtenPlanResult> plan_aten(const operators::AtenGraph& graph, const PlanAtenOptions& options);

// Returns true if only `a` has a plan, or a faster one.
bool is_faster(const AtenPlanResult& a, const AtenPlanResult& b);

// Plans without roles, then with each of expressible_roles(). All results have the free bound. An
// infeasible one has no plan. A time limit is for all together, a work limit for each. Errors: as
// plan_aten().
Result<std::vector<AtenPlanResult>> plan_expressible(const operators::AtenGraph& graph,
                                                     const PlanAtenOptions& options);

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
