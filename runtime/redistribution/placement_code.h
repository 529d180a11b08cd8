// Placements as 64-bit codes, the form in which other languages pass them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright {

// Returns the placement with this code() on a mesh of `num_axes` axes, for a tensor of `num_dims`
// dimensions. Errors (kInvalidInput): those of Placement::make; at "/<axis>" for a byte that is no
// placement, that belongs to no axis of the mesh, or whose index is missing or repeated among the
// axes of its dimension.
Result<redistribution::Placement> read_placement_code(std::uint64_t code, std::size_t num_axes,
                                                      std::size_t num_dims);

}  // namespace shardwright
