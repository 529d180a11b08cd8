// The placement of a tensor on ranks: a mesh, a redistribution::Placement, and the rounding of
// uneven parts.
#pragma once

#include <cstddef>

#include "core/program/dist_attr.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::program {

// Device i of `placement` is the rank mesh.ids()[i].
// Thread safety: a value.
struct RankPlacement {
  ProcessMesh mesh;
  redistribution::Placement placement;
  redistribution::Rounding rounding = redistribution::Rounding::kBalanced;

  friend bool operator==(const RankPlacement&, const RankPlacement&) = default;
};

// Converts Paddle's placement. Precondition: check(attr, dimensions).
RankPlacement placed(const DistAttr& attr);

// Converts a reduction. Precondition: it is not kNone.
redistribution::ReduceOp op_of(Reduction reduction);

// Returns the box of the rank at `position` of the mesh, in elements of the whole tensor.
Part part_at(const Shape& shape, const RankPlacement& placed, std::size_t position);

}  // namespace shardwright::program
