// The steps that Paddle's planner chooses, defects included.
#pragma once

#include <vector>

#include "core/program/dist_attr.h"
#include "core/program/reshard_plan.h"
#include "core/redistribution/placement/move.h"
#include "core/status.h"

namespace shardwright::program {

// Without partial axes: the sequence of Paddle's static planner for every rank. The plan is empty
// if the target has some ranks of the source and some others, as in Paddle. With partial axes:
// plan_compat_mesh().
// Source: Paddle's static Resharder (the search for a sequence of operators) and its C++ functions.
// Errors: kUnsupported if a dimension does not split evenly, or if a partial tensor changes to a
// mesh of another shape.
Result<ReshardPlan> plan_compat(const Shape& shape, const DistAttr& source, const DistAttr& target);

// The steps along mesh axes, then a message from each rank to the one at the same position of the
// target mesh. Errors: the same.
Result<ReshardPlan> plan_compat_mesh(const Shape& shape, const DistAttr& source,
                                     const DistAttr& target);

// Steps after an operator on the source mesh that wrote a tensor of the target mesh: the i-th rank
// of the target that is not in the source receives from the i-th rank of the source, modulo their
// number. Errors: kUnsupported if the numbers differ and the tensor is not replicated.
Result<ReshardPlan> plan_compat_output(const Shape& shape, const DistAttr& source,
                                       const DistAttr& target);

// The moves along mesh axes. Precondition: both attributes are on equal meshes.
std::vector<redistribution::Move> compat_mesh_moves(const DistAttr& source,
                                                    const DistAttr& target);

}  // namespace shardwright::program
