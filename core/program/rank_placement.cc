#include "core/program/rank_placement.h"

#include "core/check.h"

namespace shardwright::program {

RankPlacement placed(const DistAttr& attr) {
  RankPlacement result;
  result.mesh = attr.mesh;
  for (std::size_t dim = 0; dim < attr.dims_mapping.size(); ++dim) {
    const int axis = attr.dims_mapping[dim];
    if (axis >= 0)
      result.placement = result.placement.with_shard(static_cast<std::size_t>(axis), dim);
  }
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] != Reduction::kNone)
      result.placement = result.placement.with_partial(axis, op_of(attr.partial[axis]));
  }
  return result;
}

redistribution::ReduceOp op_of(Reduction reduction) {
  SHARDWRIGHT_CHECK(reduction != Reduction::kNone);
  switch (reduction) {
    case Reduction::kAvg:
      return redistribution::ReduceOp::kAvg;
    case Reduction::kMax:
      return redistribution::ReduceOp::kMax;
    default:
      return redistribution::ReduceOp::kSum;
  }
}

Part part_at(const Shape& shape, const RankPlacement& placed, std::size_t position) {
  return redistribution::box_of(shape, placed.mesh.shape(), placed.placement,
                                static_cast<std::int64_t>(position), placed.rounding);
}

}  // namespace shardwright::program
