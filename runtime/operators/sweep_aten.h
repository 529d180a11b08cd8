// The public entry that compares meshes: which shape runs a graph of PyTorch's operators fastest.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/operators/plan_aten.h"

namespace shardwright {

struct AtenSweep {
  struct Row {
    redistribution::MeshShape mesh;
    AtenPlanResult result;
  };
  std::int64_t devices = 0;
  std::vector<Row> rows;  // the fastest first, then those without a plan

  bool any_fits() const { return !rows.empty() && rows.front().result.plan.has_value(); }
};

// Returns all ordered factorisations of `devices` into at most `most_axes` factors above 1, sorted
// by the number of axes, then by the first extent. Preconditions: devices >= 1, most_axes >= 1.
std::vector<redistribution::MeshShape> mesh_shapes(std::int64_t devices, std::size_t most_axes);

// Plans on each of the mesh shapes, one after the other. The mesh of `options` is not read. Time
// and work limits apply to each plan. Errors: those of plan_aten(); kInvalidInput for fewer than 1
// or more than 2^31 devices, and for no axes or more than 8. A mesh on which a rule leaves no
// strategy has no plan. Thread safety: may be called from any number of threads at once.
Result<AtenSweep> sweep_aten(const operators::AtenGraph& graph, std::int64_t devices,
                             std::size_t most_axes, const PlanAtenOptions& options);

}  // namespace shardwright
