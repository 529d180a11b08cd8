// The cheapest sequence of mesh steps between two placements on one mesh.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "search/program/tensor/cost_model.h"
#include "search/program/tensor/placement_state.h"

namespace shardwright::program {

// Thread safety: a value.
struct MeshChain {
  std::vector<MeshStep> steps;
  MeshPlacement end;
  double us = 0;
};

// Costs of one tensor's mesh steps.
// Thread safety: const members may be called from any thread.
class MeshCosts {
 public:
  MeshCosts(const Cluster& cluster, const ProcessMesh& mesh, const Shape& shape, DataType type);

  // Microseconds of a step from `placement`, for the slowest rank.
  double step_us(const MeshPlacement& placement, const MeshStep& step) const;

  const ProcessMesh& mesh() const { return *mesh_; }
  const Shape& shape() const { return *shape_; }

 private:
  const Cluster* cluster_;
  const ProcessMesh* mesh_;
  const Shape* shape_;
  double element_bytes_;
  std::vector<GroupShape> groups_;  // per axis, the costliest
};

// What is done along axes of one rank is free and left out. Where `target` is null, the chain ends
// at the cheapest placement without reductions due. Nothing where no chain exists (uneven pieces
// can be gathered by no collective) or where it lies beyond `kMaxPlacements` placements. Splits
// that are undone later are tried where the search stays within that. Cost: O(placements * axes *
// dims), Dijkstra's algorithm.
std::optional<MeshChain> cheapest_chain(const MeshCosts& costs, const MeshPlacement& source,
                                        const MeshPlacement* target);

inline constexpr std::size_t kMaxPlacements = 4096;

}  // namespace shardwright::program
