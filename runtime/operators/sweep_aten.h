// The public entry that finds the mesh shape on which a graph of PyTorch operators runs fastest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/operators/plan_aten.h"

namespace shardwright {

struct AtenSweep {
  struct Row {
    redistribution::MeshShape mesh;
    AtenPlanResult result;
    std::string baseline;  // its name; empty for other rows
  };
  std::int64_t devices = 0;
  std::vector<Row> rows;  // by time; shapes without a plan last

  bool any_fits() const { return !rows.empty() && rows.front().result.plan.has_value(); }
};

// Returns all ordered factorisations of `devices` into at most `most_axes` factors above 1. Order:
// by number of axes, then by first extent. Preconditions: devices >= 1, most_axes >= 1.
std::vector<redistribution::MeshShape> mesh_shapes(std::int64_t devices, std::size_t most_axes);

// Plans on each mesh shape of `devices`, one after the other; the mesh of `options` is ignored.
// With `options.expressible`, also with all expressible roles. Then plans the baselines, which must
// be on meshes of `devices`. Time and work limits apply to each plan. On a mesh where a rule leaves
// no strategy there is no plan. Errors: as plan_aten(); kInvalidInput for fewer than 1 or more than 2^31 devices, and for
// no axes or more than 8, and at "/baselines/<index>". Thread safety: may be called from any number of threads at once.
Result<AtenSweep> sweep_aten(const operators::AtenGraph& graph, std::int64_t devices,
                             std::size_t most_axes, const PlanAtenOptions& options);

}  // namespace shardwright
