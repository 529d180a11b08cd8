#include "core/redistribution/placement/placement.h"

#include <algorithm>
#include <string>

#include "core/check.h"

namespace shardwright::redistribution {
namespace {

constexpr std::int64_t kMaxDevices = std::int64_t{1} << 31;

}  // namespace

Status check_mesh(const MeshShape& mesh) {
  if (mesh.empty()) return invalid_input("/mesh", "a mesh has at least one axis");
  std::int64_t devices = 1;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (mesh[axis] < 1) {
      return invalid_input("/mesh/" + std::to_string(axis), "the axis has no device");
    }
    if (mesh[axis] > kMaxDevices / devices) {
      return invalid_input("/mesh", "more than 2^31 devices");
    }
    devices *= mesh[axis];
  }
  return {};
}

std::int64_t num_devices(const MeshShape& mesh) {
  std::int64_t devices = 1;
  for (const std::int64_t extent : mesh)
    devices *= extent;
  return devices;
}

std::int64_t devices_along(const MeshShape& mesh, const Axes& axes) {
  std::int64_t devices = 1;
  for (const std::uint8_t axis : axes)
    devices *= mesh[axis];
  return devices;
}

std::int64_t stride(const MeshShape& mesh, std::size_t axis) {
  std::int64_t stride = 1;
  for (std::size_t inside = axis + 1; inside < mesh.size(); ++inside)
    stride *= mesh[inside];
  return stride;
}

std::int64_t coordinate(const MeshShape& mesh, std::int64_t device, std::size_t axis) {
  return device / stride(mesh, axis) % mesh[axis];
}

std::vector<std::int64_t> devices_through(const MeshShape& mesh, const Axes& axes,
                                          std::int64_t device) {
  for (const std::uint8_t axis : axes)
    device -= coordinate(mesh, device, axis) * stride(mesh, axis);
  std::vector<std::int64_t> devices{device};
  for (const std::uint8_t axis : axes) {
    std::vector<std::int64_t> more;
    more.reserve(devices.size() * static_cast<std::size_t>(mesh[axis]));
    for (const std::int64_t first : devices) {
      for (std::int64_t i = 0; i < mesh[axis]; ++i)
        more.push_back(first + i * stride(mesh, axis));
    }
    devices = std::move(more);
  }
  return devices;
}

bool leaves_host(const MeshShape& mesh, std::size_t axis, std::int64_t devices_per_host) {
  std::int64_t devices = 1;
  for (std::size_t inside = axis; inside < mesh.size(); ++inside)
    devices *= mesh[inside];
  return devices > devices_per_host;
}

Shape shape_of(const Box& box) {
  Shape shape;
  for (const Interval& interval : box)
    shape.push_back(interval.size());
  return shape;
}

std::int64_t num_elements(const Box& box) {
  std::int64_t count = 1;
  for (const Interval& interval : box)
    count *= interval.size();
  return count;
}

std::int64_t num_elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    count *= size;
  return count;
}

Box whole(const Shape& shape) {
  Box box;
  for (const std::int64_t size : shape)
    box.push_back({0, size});
  return box;
}

bool overlap(const Box& a, const Box& b) {
  for (std::size_t dim = 0; dim < a.size(); ++dim) {
    if (a[dim] == b[dim]) continue;
    if (std::max(a[dim].begin, b[dim].begin) >= std::min(a[dim].end, b[dim].end)) return false;
  }
  return true;
}

Box intersection(const Box& a, const Box& b) {
  Box common;
  for (std::size_t dim = 0; dim < a.size(); ++dim)
    common.push_back({std::max(a[dim].begin, b[dim].begin), std::min(a[dim].end, b[dim].end)});
  return common;
}

Box relative(const Box& inner, const Box& outer) {
  Box box;
  for (std::size_t dim = 0; dim < inner.size(); ++dim)
    box.push_back({inner[dim].begin - outer[dim].begin, inner[dim].end - outer[dim].begin});
  return box;
}

Interval cut(std::int64_t size, std::int64_t pieces, std::int64_t index, Rounding rounding) {
  if (rounding == Rounding::kCeil) {
    const std::int64_t length = (size + pieces - 1) / pieces;
    return {std::min(size, index * length), std::min(size, (index + 1) * length)};
  }
  const std::int64_t base = size / pieces;
  const std::int64_t longer = size % pieces;
  const std::int64_t begin = index * base + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
}

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

namespace {

// Returns the interval of a dimension of `size` elements that the device holds.
Interval interval_of(std::int64_t size, const MeshShape& mesh, const Axes& axes,
                     std::int64_t device, Rounding rounding) {
  Interval held{0, size};
  for (const std::uint8_t axis : axes) {
    const Interval piece = cut(held.size(), mesh[axis], coordinate(mesh, device, axis), rounding);
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
