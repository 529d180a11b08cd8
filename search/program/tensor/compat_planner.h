// The sequences that Paddle's planner chooses, defects included.
#pragma once

#include <vector>

#include "core/program/reshard_plan.h"
#include "core/status.h"
#include "search/program/tensor/placement_state.h"

namespace shardwright::program {

// The per-rank sequence of the static planner, or, where partial axes take part, the steps of the
// functions for meshes of several axes followed by sends rank by rank to another mesh. Where the
// target has ranks of the source and others, the plan is empty, as upstream.
// Source: Paddle's static Resharder (the search for a sequence of operators) and its C++ functions.
// Errors: kUnsupported where a dimension does not split evenly, or a partial tensor changes to a
// mesh of another shape.
Result<ReshardPlan> plan_compat(const Shape& shape, const DistAttr& source, const DistAttr& target);

// The steps along mesh axes whatever the attributes are, then messages. Errors: the same.
Result<ReshardPlan> plan_compat_mesh(const Shape& shape, const DistAttr& source,
                                     const DistAttr& target);

// What follows an operator on the source mesh that wrote a tensor of the target mesh: the i-th rank
// that lacks it gets it from the i-th of the operator. Errors: kUnsupported where these are not
// equally many and the tensor is not replicated.
Result<ReshardPlan> plan_compat_output(const Shape& shape, const DistAttr& source,
                                       const DistAttr& target);

// The steps on one mesh. Precondition: both attributes are on equal meshes.
std::vector<MeshStep> compat_mesh_steps(const DistAttr& source, const DistAttr& target);

}  // namespace shardwright::program
