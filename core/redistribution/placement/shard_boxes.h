// Which elements of a tensor a device holds.
#pragma once

#include <cstdint>

#include "core/redistribution/placement/box.h"
#include "core/redistribution/placement/mesh_shape.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {

// The box that the device with this number holds. A partial axis leaves it as it is: the device has
// one term of every element. Preconditions: a checked mesh, a placement of a tensor of this shape.
// O(dimensions + axes).
// Source for several axes with kCeil: torch 2.13, torch/distributed/tensor/_utils.py,
// compute_local_shape_and_global_offset.
Box box_of(const Shape& shape, const MeshShape& mesh, const Placement& placement,
           std::int64_t device, Rounding rounding);

// The elements of the largest box, which is that of device 0. Both roundings give the same.
std::int64_t largest_box(const Shape& shape, const MeshShape& mesh, const Placement& placement);

// The placement with axes of one device replicated: every device holds the same.
Placement effective_placement(const MeshShape& mesh, const Placement& placement);

// Returns true if the pieces of every dimension are of equal size.
bool is_even(const Shape& shape, const MeshShape& mesh, const Placement& placement);

}  // namespace shardwright::redistribution
