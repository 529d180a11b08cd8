// The time of collectives in the alpha-beta model.
#pragma once

#include <cstdint>

#include "core/operators/mesh/device_mesh.h"

namespace shardwright::operators {

// Times along one axis of a mesh. Several axes count as the mesh flattened to one axis of all its
// devices. `volume` is in elements; the unit of the result is that of alpha. The order of
// multiplications and divisions is ColossalAI's. Source: AlphaBetaProfiler / DeviceMesh cost
// functions, ColossalAI colossalai/device/device_mesh.py.
struct CollectiveAxis {
  std::uint32_t devices = 1;
  double alpha = 0;
  double beta = 0;

  static CollectiveAxis along(const DeviceMesh& mesh, int axis);
  static CollectiveAxis flattened(const DeviceMesh& mesh);
  // Along the axis if `axes` is one, along the flattened mesh if it is several.
  static CollectiveAxis over(const DeviceMesh& mesh, std::uint8_t axes);

  double all_gather(double volume) const;
  double all_reduce(double volume) const;
  double reduce_scatter(double volume) const;
  double all_to_all(double volume) const;
};

// Forward, backward and total time.
struct PhaseCost {
  double forward = 0;
  double backward = 0;
  double total = 0;

  friend bool operator==(const PhaseCost&, const PhaseCost&) = default;
};

}  // namespace shardwright::operators
