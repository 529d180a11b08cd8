// Reproduces the plans of Paddle's planner, and refines two meshes over the same ranks.
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

// A common refinement of two meshes over the same list of ranks. Each axis of the source or target
// mesh equals a run of consecutive axes of the refined mesh. Thread safety: a value.
struct Refinement {
  ProcessMesh mesh;
  std::vector<redistribution::Axes> source_axes;  // by axis of the source mesh
  std::vector<redistribution::Axes> target_axes;  // by axis of the target mesh
};
// Returns nullopt if the lists of ranks differ, if the axis boundaries of the meshes do not divide
// each other, or if the refined mesh has too many axes.
std::optional<Refinement> refine(const ProcessMesh& source, const ProcessMesh& target);

// Returns the placement on the refined mesh. `axes`: Refinement::source_axes or target_axes.
redistribution::Placement placement_of(const DistAttr& attr,
                                       const std::vector<redistribution::Axes>& axes);

// Returns the ranks along `axis` through the rank at `position`.
std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position);

// Checks a plan of plan_compat() between placements on the same ranks, without partial axes.
// Returns true if every rank is a member of the group of its gather, all members have the same
// group, gathers along dimension 0 produce the wanted part, and ranks without a gather hold the
// part that they cut.
bool gathers_correctly(const ReshardPlan& plan, const Shape& shape, const DistAttr& source,
                       const DistAttr& target);

// Checks a plan of plan_compat() between disjoint meshes, without partial axes. Returns true if the
// parts that each rank receives join into one box.
bool joins_all_parts(const ReshardPlan& plan);

// Returns plan_compat_mesh() if an axis is partial, otherwise the steps of Paddle's static planner
// for every rank. As in Paddle, the plan is empty if the target mesh has some ranks of the source
// mesh and also other ranks.
// Source: Paddle's static Resharder (the search for a sequence of operators) and its C++ functions.
// Errors: kUnsupported if a dimension does not split evenly, or if a partial tensor changes to a
// mesh of another shape.
Result<ReshardPlan> plan_compat(const Shape& shape, const DistAttr& source, const DistAttr& target);

// Returns the steps along mesh axes, then a message from each rank to the rank at the same position
// of the target mesh. Errors: as plan_compat().
Result<ReshardPlan> plan_compat_mesh(const Shape& shape, const DistAttr& source,
                                     const DistAttr& target);

// Plans an output: an operator on the source mesh wrote a tensor that belongs on the target mesh.
// The i-th target rank outside the source receives from source rank i modulo the number of source
// ranks. Errors: kUnsupported if receivers and source ranks differ in number, unless the tensor is
// replicated.
Result<ReshardPlan> plan_compat_output(const Shape& shape, const DistAttr& source,
                                       const DistAttr& target);

// Returns the moves along mesh axes. Precondition: both attributes are on equal meshes.
std::vector<redistribution::Move> compat_mesh_moves(const DistAttr& source, const DistAttr& target);

}  // namespace shardwright::program
