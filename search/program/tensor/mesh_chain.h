// The cheapest chain of steps along mesh axes between two placements on one mesh.
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
  double us = 0;  // the sum over the steps
};

// If `target` is null, the chain ends at the nearest placement without reductions due. Empty if
// there is no chain (no collective gathers uneven pieces), or none within `kMaxPlacements` settled
// placements. Steps along axes of size 1 cost nothing, and append_steps() leaves them out. First
// allows splits that are undone later, and then, if that search exceeds the limit, only splits of
// the target. Dijkstra's algorithm. Cost: O(placements * axes * dims).
std::optional<MeshChain> cheapest_chain(const MeshCosts& costs, const MeshPlacement& source,
                                        const MeshPlacement* target);

inline constexpr std::size_t kMaxPlacements = 4096;

}  // namespace shardwright::program
