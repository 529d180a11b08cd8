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

bool is_faster(const AtenSweep::Row& a, const AtenSweep::Row& b) {
  if (a.result.plan.has_value() != b.result.plan.has_value()) return a.result.plan.has_value();
  return a.result.plan && a.result.evaluation.total_us() < b.result.evaluation.total_us();
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
    Result<AtenPlanResult> result = plan_aten(graph, on_mesh);
    if (!result.ok() && result.error().code == ErrorCode::kInfeasible) {
      AtenPlanResult none;
      none.status = operators::SolveStatus::kInfeasible;
      sweep.rows.push_back({std::move(mesh), std::move(none)});
      continue;
    }
    if (!result.ok()) return result.error();
    sweep.rows.push_back({std::move(mesh), std::move(result).value()});
  }
  std::stable_sort(sweep.rows.begin(), sweep.rows.end(), is_faster);
  return sweep;
}

}  // namespace shardwright
