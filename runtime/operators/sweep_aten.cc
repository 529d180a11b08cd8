#include "runtime/operators/sweep_aten.h"

#include <algorithm>
#include <utility>

namespace shardwright {
namespace {

using redistribution::MeshShape;

constexpr std::int64_t kMostDevices = std::int64_t{1} << 31;

void extend(MeshShape& mesh, std::int64_t devices, std::size_t axes,
            std::vector<MeshShape>& shapes) {
  if (axes == 1) {
    mesh.push_back(devices);
    shapes.push_back(mesh);
    mesh.pop_back();
    return;
  }
  for (std::int64_t first = 2; first <= devices / 2; ++first) {
    if (devices % first != 0) continue;
    mesh.push_back(first);
    extend(mesh, devices / first, axes - 1, shapes);
    mesh.pop_back();
  }
}

// Returns a result without a plan where a rule leaves no strategy.
Result<AtenPlanResult> plan_if_feasible(const operators::AtenGraph& graph,
                                        const PlanAtenOptions& options) {
  Result<AtenPlanResult> result = plan_aten(graph, options);
  if (result.ok() || result.error().code != ErrorCode::kInfeasible) return result;
  AtenPlanResult none;
  none.status = operators::SolveStatus::kInfeasible;
  none.roles = options.roles;
  return none;
}

Status add_baseline(const operators::AtenGraph& graph, const AtenBaseline& baseline,
                    PlanAtenOptions options, AtenSweep& sweep) {
  if (redistribution::num_devices(baseline.mesh) != sweep.devices) {
    return invalid_input("/mesh", "has " +
                                      std::to_string(redistribution::num_devices(baseline.mesh)) +
                                      " devices, not " + std::to_string(sweep.devices));
  }
  options.mesh = baseline.mesh;
  options.roles = baseline.roles;
  options.constraints.insert(options.constraints.end(), baseline.constraints.begin(),
                             baseline.constraints.end());
  options.expressible = false;
  SHARDWRIGHT_ASSIGN_OR_RETURN(AtenPlanResult result, plan_if_feasible(graph, options));
  for (const AtenSweep::Row& row : sweep.rows) {
    if (row.mesh == baseline.mesh) result.free_bound_us = row.result.free_bound_us;
  }
  sweep.rows.push_back({baseline.mesh, std::move(result), baseline.name});
  return {};
}

}  // namespace

std::vector<MeshShape> mesh_shapes(std::int64_t devices, std::size_t most_axes) {
  std::vector<MeshShape> shapes;
  MeshShape mesh;
  for (std::size_t axes = 1; axes <= most_axes; ++axes)
    extend(mesh, devices, axes, shapes);
  return shapes;
}

Result<AtenSweep> sweep_aten(const operators::AtenGraph& graph, std::int64_t devices,
                             std::size_t most_axes, const PlanAtenOptions& options) {
  if (devices < 1 || devices > kMostDevices)
    return invalid_input("/devices", "must be between 1 and 2^31");
  if (most_axes < 1 || most_axes > redistribution::kMaxMeshAxes)
    return invalid_input("/axes", "must be between 1 and 8");
  AtenSweep sweep;
  sweep.devices = devices;
  for (MeshShape& mesh : mesh_shapes(devices, most_axes)) {
    PlanAtenOptions on_mesh = options;
    on_mesh.mesh = mesh;
    std::vector<AtenPlanResult> results;
    if (options.expressible) {
      SHARDWRIGHT_ASSIGN_OR_RETURN(results, plan_expressible(graph, on_mesh));
    } else {
      SHARDWRIGHT_ASSIGN_OR_RETURN(AtenPlanResult result, plan_if_feasible(graph, on_mesh));
      results.push_back(std::move(result));
    }
    for (AtenPlanResult& result : results)
      sweep.rows.push_back({mesh, std::move(result), ""});
  }
  for (std::size_t b = 0; b < options.baselines.size(); ++b) {
    const Status added = add_baseline(graph, options.baselines[b], options, sweep);
    if (!added.ok()) {
      Error error = added.error();
      error.where = "/baselines/" + std::to_string(b) + error.where;
      return error;
    }
  }
  std::stable_sort(sweep.rows.begin(), sweep.rows.end(),
                   [](const AtenSweep::Row& a, const AtenSweep::Row& b) {
                     return is_faster(a.result, b.result);
                   });
  return sweep;
}

}  // namespace shardwright
