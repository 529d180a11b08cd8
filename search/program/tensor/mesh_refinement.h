// Two meshes over the same ranks as one finer mesh, and Paddle's placements on it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/program/placed/rank_placement.h"
#include "core/program/reshard_plan.h"
#include "core/redistribution/placement/move.h"

namespace shardwright::program {

// Two meshes over the same list of ranks, seen as one finer mesh. Every axis of either mesh is a
// run of consecutive axes of the finer one.
// Thread safety: a value.
struct Refinement {
  ProcessMesh mesh;
  std::vector<redistribution::Axes> source_axes;  // by axis of the source mesh
  std::vector<redistribution::Axes> target_axes;  // by axis of the target mesh
};
// Empty if the lists of ranks differ, the extents do not divide, or the finer mesh has too many
// axes.
std::optional<Refinement> refine(const ProcessMesh& source, const ProcessMesh& target);

// `axes`: by axis of the attribute's mesh, those of the finer one.
redistribution::Placement placement_of(const DistAttr& attr,
                                       const std::vector<redistribution::Axes>& axes);

// The ranks along `axis` through the rank at `position`.
std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position);

}  // namespace shardwright::program
