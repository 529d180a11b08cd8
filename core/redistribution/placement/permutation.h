// Placements in which devices hold the same parts, each as often, but other devices hold them.
#pragma once

#include <cstdint>

#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {

// Returns true if `a` becomes `b` when each device sends all that it holds to at most one other:
// every dimension has the same pieces, and as many axes' worth of terms are due to each reduction.
// Axes may differ in size if pieces are even. Preconditions: a checked mesh, placements of the
// shape.
bool is_permutation(const Shape& shape, const MeshShape& mesh, const Placement& a,
                    const Placement& b);

// The axes along which devices differ from those that hold the same part in the other placement;
// ascending. Axes of one device are left out. Precondition: is_permutation(a, b).
Axes permuted_axes(const MeshShape& mesh, const Placement& a, const Placement& b);

// The device that holds in `before` what `device` holds in `after`. No two devices have the same
// one. It differs along permuted_axes() only. Precondition: is_permutation(before, after).
std::int64_t permuted_from(const MeshShape& mesh, const Placement& before, const Placement& after,
                           std::int64_t device);

}  // namespace shardwright::redistribution
