// Writes plans for graphs of PyTorch operators.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/io/json/json_members.h"
#include "runtime/io/text_sink.h"
#include "runtime/operators/plan_aten.h"
#include "runtime/operators/sweep_aten.h"

namespace shardwright {

// Microseconds of moving tensors, by collective; `slice_us` needs none.
struct MovingTimes {
  double all_gather_us = 0, all_to_all_us = 0, all_reduce_us = 0, reduce_scatter_us = 0;
  double slice_us = 0;
};

// A mesh with the figures of its plan, or the reason why it has none.
struct MeshOutcome {
  redistribution::MeshShape mesh;
  std::optional<operators::AxisRoles> roles;  // absent if all axes are free
  std::optional<std::string> baseline;        // its name
  operators::SolveStatus status = operators::SolveStatus::kUnknown;
  std::optional<double> objective_us, lower_bound_us, compute_us, redistribute_us;
  std::optional<double> hidden_us;      // part of redistribute_us; absent without overlap
  std::optional<double> gap;            // (objective - bound) / objective
  std::optional<double> free_bound_us;  // no plan is faster, whatever its roles
  std::optional<double> loss;           // objective / free_bound - 1
  std::optional<MovingTimes> communication;
  std::optional<operators::AtenMemory> memory;  // at the peak
  std::optional<std::int64_t> peak_bytes, most_moved_bytes;
  std::optional<std::string> reason;
  std::optional<std::int64_t> limit_bytes;                // per device, where no plan fits
  std::optional<std::int64_t> least_bytes, enough_bytes;  // bytes per device that a plan needs
};

struct MeshSweep {
  std::int64_t devices = 0;
  std::vector<MeshOutcome> meshes;  // by time; meshes without a plan last
};

void describe(JsonMembers& members, MeshSweep& sweep);
MeshSweep mesh_sweep(const AtenSweep& sweep);
JsonShape mesh_sweep_shape();

// Writes a row per node and output of the graph, or the reason why there is no plan.
void write_aten_plan(const operators::AtenGraph& graph, const PlanAtenOptions& options,
                     const AtenPlanResult& result, const TextSink& sink);
JsonShape aten_plan_shape();

// Writes the problem in the format of the IOPDDL contest, which `operators solve` reads. Costs are
// microseconds times 10^9, rounded; 10^18 means forbidden.
void write_aten_instance(const operators::AtenGraph& graph, const operators::CostInstance& instance,
                         const TextSink& sink);

}  // namespace shardwright
