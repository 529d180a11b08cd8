// The plans of Paddle's planner, and the common refinement of two meshes over the same ranks.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/program/dist_attr.h"
#include "core/program/rank_placement.h"
#include "core/program/reshard_plan.h"
#include "core/redistribution/placement/move.h"
#include "core/status.h"

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

// The placement of the attribute on the finer mesh. `axes`: by axis of the attribute's mesh.
redistribution::Placement placement_of(const DistAttr& attr,
                                       const std::vector<redistribution::Axes>& axes);

// The ranks along `axis` through the rank at `position`.
std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position);

// Checks a plan_compat() between placements on the same ranks, without partial axes: every rank is
// a member of its own gather's group, all members have the same group, gathers along dimension 0
// produce the wanted part, and ranks without a gather hold the part that they cut.
bool gathers_correctly(const ReshardPlan& plan, const Shape& shape, const DistAttr& source,
                       const DistAttr& target);

// Checks a plan of plan_compat() between disjoint meshes, without partial axes. Returns true if the
// parts that each rank receives join into one box.
bool joins_all_parts(const ReshardPlan& plan);

// Returns plan_compat_mesh() if an axis is partial, otherwise the steps of Paddle's static planner
// for every rank. As in Paddle, the plan is empty if the target has some ranks of the source and
// some others.
// Source: Paddle's static Resharder (the search for a sequence of operators) and its C++ functions.
// Errors: kUnsupported if a dimension does not split evenly, or if a partial tensor changes to a
// mesh of another shape.
Result<ReshardPlan> plan_compat(const Shape& shape, const DistAttr& source, const DistAttr& target);

// Returns the steps along mesh axes, then a message from each rank to the rank at the same position
// of the target mesh. Errors: as plan_compat().
Result<ReshardPlan> plan_compat_mesh(const Shape& shape, const DistAttr& source,
                                     const DistAttr& target);

// Returns the steps after an operator on the source mesh that wrote a tensor of the target mesh:
// the i-th target rank that is not in the source receives from source rank i modulo the number of
// source ranks. Errors: kUnsupported for unequal numbers of receivers and source ranks, unless the
// tensor is replicated.
Result<ReshardPlan> plan_compat_output(const Shape& shape, const DistAttr& source,
                                       const DistAttr& target);

// The moves along mesh axes. Precondition: both attributes are on equal meshes.
std::vector<redistribution::Move> compat_mesh_moves(const DistAttr& source, const DistAttr& target);

}  // namespace shardwright::program
