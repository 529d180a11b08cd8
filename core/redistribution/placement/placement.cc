#include "core/redistribution/placement/placement.h"

#include <algorithm>
#include <string>

#include "core/check.h"

namespace shardwright::redistribution {
namespace {

std::string at(std::size_t axis) { return "/" + std::to_string(axis); }

Status check_axes(std::span<const AxisPlacement> axes, std::size_t num_dims) {
  if (axes.size() > kMaxMeshAxes) {
    return invalid_input("", "a mesh has at most " + std::to_string(kMaxMeshAxes) + " axes");
  }
  if (num_dims > kMaxDims) {
    return invalid_input("", "a tensor has at most " + std::to_string(kMaxDims) + " dimensions");
  }
  const AxisPlacement* partial = nullptr;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].is_shard() && axes[axis].dim >= num_dims) {
      return invalid_input(at(axis), "the tensor has " + std::to_string(num_dims) +
                                         " dimensions and none with the number " +
                                         std::to_string(axes[axis].dim));
    }
    if (!axes[axis].is_partial()) continue;
    if (partial != nullptr && !commute(partial->reduce_op, axes[axis].reduce_op)) {
      return invalid_input(at(axis), std::string("a partial ") + name_of(axes[axis].reduce_op) +
                                         " cannot be combined with a partial " +
                                         name_of(partial->reduce_op) +
                                         ": the result would depend on which is reduced first");
    }
    partial = &axes[axis];
  }
  return {};
}

bool same_axes(Axes a, Axes b) {
  std::sort(a.begin(), a.end());
  std::sort(b.begin(), b.end());
  return a == b;
}

Axes sharding_axes(std::span<const AxisPlacement> axes, std::size_t dim) {
  Axes found;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].is_shard() && axes[axis].dim == dim)
      found.push_back(static_cast<std::uint8_t>(axis));
  }
  return found;
}

}  // namespace

const char* name_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return "sum";
    case ReduceOp::kAvg:
      return "avg";
    case ReduceOp::kMin:
      return "min";
    case ReduceOp::kMax:
      return "max";
    case ReduceOp::kProduct:
      return "product";
  }
  return "";
}

Result<Placement> Placement::make(std::span<const AxisPlacement> axes, std::size_t num_dims,
                                  std::span<const ShardOrder> order) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_axes(axes, num_dims));
  Placement placement;
  for (std::size_t axis = 0; axis < axes.size(); ++axis) {
    if (axes[axis].is_partial()) placement = placement.with_partial(axis, axes[axis].reduce_op);
  }
  for (std::size_t dim = 0; dim < num_dims; ++dim) {
    Axes sharding = sharding_axes(axes, dim);
    for (std::size_t i = 0; i < order.size(); ++i) {
      if (order[i].dim != dim) continue;
      if (!same_axes(order[i].axes, sharding)) {
        return invalid_input("/order" + at(i),
                             "does not name the axes that shard dimension " + std::to_string(dim));
      }
      sharding = order[i].axes;
    }
    for (const std::uint8_t axis : sharding)
      placement = placement.with_shard(axis, dim);
  }
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i].dim >= num_dims) {
      return invalid_input("/order" + at(i),
                           "the tensor has no dimension " + std::to_string(order[i].dim));
    }
  }
  return placement;
}

AxisPlacement Placement::on(std::size_t axis) const {
  if (is_shard(axis)) return AxisPlacement::shard(dim(axis));
  if (is_partial(axis)) return AxisPlacement::partial(reduce_op(axis));
  return AxisPlacement::replicate();
}

bool Placement::has_partial() const {
  for (std::size_t axis = 0; axis < kMaxMeshAxes; ++axis) {
    if (is_partial(axis)) return true;
  }
  return false;
}

bool Placement::commutes(ReduceOp op) const {
  for (std::size_t axis = 0; axis < kMaxMeshAxes; ++axis) {
    if (is_partial(axis) && !commute(reduce_op(axis), op)) return false;
  }
  return true;
}

std::size_t Placement::num_axes(std::size_t dim) const {
  std::size_t count = 0;
  for (std::uint64_t rest = code_; rest != 0; rest >>= 8)
    count += (rest >> 4 & 0xf) == dim + 1 ? 1 : 0;
  return count;
}

Axes Placement::axes_of(std::size_t dim) const {
  Axes axes(num_axes(dim));
  for (std::size_t axis = 0; axis < kMaxMeshAxes; ++axis) {
    if (is_shard(axis) && this->dim(axis) == dim)
      axes[index(axis)] = static_cast<std::uint8_t>(axis);
  }
  return axes;
}

Placement Placement::with_shard(std::size_t axis, std::size_t dim) const {
  SHARDWRIGHT_DCHECK(dim < kMaxDims && (!is_shard(axis) || is_innermost(axis)));
  const Placement without = with(axis, 0);
  return without.with(axis, (dim + 1) << 4 | without.num_axes(dim));
}

Placement Placement::with_partial(std::size_t axis, ReduceOp op) const {
  return with(axis, 1 + static_cast<std::uint64_t>(op));
}

}  // namespace shardwright::redistribution
