// A general placement of a tensor: ranks on a mesh, a placement with shard order, and the rounding
// of uneven cuts.
#pragma once

#include <cstddef>

#include "core/program/dist_attr.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::program {

// A device of the placement is a position in the mesh.
// Thread safety: a value.
struct RankPlacement {
  ProcessMesh mesh;
  redistribution::Placement placement;
  redistribution::Rounding rounding = redistribution::Rounding::kBalanced;

  friend bool operator==(const RankPlacement&, const RankPlacement&) = default;
};

// Converts Paddle's placement. Precondition: check(attr, dimensions).
RankPlacement placed(const DistAttr& attr);

// The operator of a reduction that is due. Precondition: it is not kNone.
redistribution::ReduceOp op_of(Reduction reduction);

// The box that the rank at `position` of the mesh holds, in elements of the whole tensor.
Part part_at(const Shape& shape, const RankPlacement& placed, std::size_t position);

}  // namespace shardwright::program
