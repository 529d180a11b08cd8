#include "core/redistribution/placement/shard_boxes.h"

namespace shardwright::redistribution {
namespace {

// The interval of a dimension of `size` elements that the device holds.
Interval interval_of(std::int64_t size, const MeshShape& mesh, const Axes& axes,
                     std::int64_t device, Rounding rounding) {
  Interval held{0, size};
  for (const std::uint8_t axis : axes) {
    const Interval piece =
        cut(held.size(), mesh[axis], coordinate(mesh, device, axis), rounding);
    held = {held.begin + piece.begin, held.begin + piece.end};
  }
  return held;
}

}  // namespace

Box box_of(const Shape& shape, const MeshShape& mesh, const Placement& placement,
           std::int64_t device, Rounding rounding) {
  Box box;
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    box.push_back(interval_of(shape[dim], mesh, placement.axes_of(dim), device, rounding));
  return box;
}

std::int64_t largest_box(const Shape& shape, const MeshShape& mesh, const Placement& placement) {
  Shape pieces(shape.size(), 1);
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (placement.is_shard(axis)) pieces[placement.dim(axis)] *= mesh[axis];
  }
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < shape.size(); ++dim)
    elements *= (shape[dim] + pieces[dim] - 1) / pieces[dim];
  return elements;
}

Placement effective_placement(const MeshShape& mesh, const Placement& placement) {
  Placement effective;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (mesh[axis] > 1 && placement.is_partial(axis))
      effective = effective.with_partial(axis, placement.reduce_op(axis));
  }
  for (std::size_t dim = 0; dim < kMaxDims; ++dim) {
    for (const std::uint8_t axis : placement.axes_of(dim)) {
      if (mesh[axis] > 1) effective = effective.with_shard(axis, dim);
    }
  }
  return effective;
}

bool is_even(const Shape& shape, const MeshShape& mesh, const Placement& placement) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] % devices_along(mesh, placement.axes_of(dim)) != 0) return false;
  }
  return true;
}

}  // namespace shardwright::redistribution
