#include "core/program/dist_attr.h"

#include <algorithm>
#include <array>
#include <string>

namespace shardwright::program {
namespace {

constexpr std::array<std::string_view, 8> kDataTypes{"float32", "float16", "bfloat16", "float64",
                                                     "int64",   "int32",   "uint8",    "bool"};
constexpr std::array<std::int64_t, 8> kElementBytes{4, 2, 2, 8, 8, 4, 1, 1};
constexpr std::array<std::string_view, 4> kReductions{"none", "sum", "avg", "max"};

constexpr std::int64_t kMaxRanks = 1 << 20;
constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;

}  // namespace

std::string_view to_name(DataType type) { return kDataTypes[static_cast<std::size_t>(type)]; }
std::span<const std::string_view> data_type_names() { return kDataTypes; }
std::int64_t element_bytes(DataType type) { return kElementBytes[static_cast<std::size_t>(type)]; }

std::string_view to_name(Reduction reduction) {
  return kReductions[static_cast<std::size_t>(reduction)];
}
std::span<const std::string_view> reduction_names() { return kReductions; }

Result<ProcessMesh> ProcessMesh::make(std::vector<std::int64_t> shape, std::vector<Rank> ids) {
  if (shape.empty() || shape.size() > kMaxMeshAxes) {
    return invalid_input("/shape", "a mesh has 1 to " + std::to_string(kMaxMeshAxes) + " axes");
  }
  std::int64_t product = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 1 || extent > kMaxRanks) {
      return invalid_input("/shape", "the extent of an axis must be between 1 and 1048576");
    }
    product = std::min(product * extent, kMaxRanks + 1);
  }
  if (product != static_cast<std::int64_t>(ids.size())) {
    return invalid_input("/ids", "a mesh of this shape has " + std::to_string(product) +
                                     " ranks, not " + std::to_string(ids.size()));
  }
  std::vector<Rank> sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  if (sorted.front() < 0) return invalid_input("/ids", "ranks must not be negative");
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) {
    return invalid_input("/ids", "rank " + std::to_string(*twice) + " occurs twice");
  }
  return ProcessMesh(std::move(shape), std::move(ids));
}

std::optional<std::size_t> ProcessMesh::position_of(Rank rank) const {
  const auto found = std::find(ids_.begin(), ids_.end(), rank);
  if (found == ids_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - ids_.begin());
}

std::int64_t ProcessMesh::stride(std::size_t axis) const {
  std::int64_t stride = 1;
  for (std::size_t i = axis + 1; i < shape_.size(); ++i)
    stride *= shape_[i];
  return stride;
}

std::int64_t ProcessMesh::coordinate(std::size_t position, std::size_t axis) const {
  return static_cast<std::int64_t>(position) / stride(axis) % shape_[axis];
}

bool is_subset(const ProcessMesh& inner, const ProcessMesh& outer) {
  std::vector<Rank> few = inner.ids();
  std::vector<Rank> many = outer.ids();
  std::sort(few.begin(), few.end());
  std::sort(many.begin(), many.end());
  return std::includes(many.begin(), many.end(), few.begin(), few.end());
}

bool DistAttr::has_partial() const {
  return std::any_of(partial.begin(), partial.end(),
                     [](Reduction due) { return due != Reduction::kNone; });
}

DimsMapping effective_mapping(const ProcessMesh& mesh, const DimsMapping& mapping) {
  DimsMapping effective = mapping;
  for (auto& axis : effective) {
    const auto number = static_cast<std::size_t>(axis);
    if (axis >= 0 && number < mesh.axes() && mesh.axis_size(number) == 1) axis = -1;
  }
  return effective;
}

PartialAxes effective_partial(const ProcessMesh& mesh, const PartialAxes& partial) {
  PartialAxes effective = partial;
  for (std::size_t axis = 0; axis < effective.size(); ++axis) {
    if (axis < mesh.axes() && mesh.axis_size(axis) == 1) effective[axis] = Reduction::kNone;
  }
  while (!effective.empty() && effective.back() == Reduction::kNone)
    effective.pop_back();
  return effective;
}

bool operator==(const DistAttr& a, const DistAttr& b) {
  if (!(a.mesh == b.mesh) || a.dims_mapping != b.dims_mapping) return false;
  const std::size_t axes = std::max(a.partial.size(), b.partial.size());
  for (std::size_t axis = 0; axis < axes; ++axis) {
    if (a.due_on(axis) != b.due_on(axis)) return false;
  }
  return true;
}

Status check_extents(const Shape& shape) {
  std::int64_t elements = 1;
  for (const std::int64_t extent : shape) {
    if (extent == -1) continue;
    if (extent < 0) {
      return invalid_input(
          "", "an extent cannot be " + std::to_string(extent) + "; write the number of elements");
    }
    if (extent > kMaxElements / elements) {
      return invalid_input("", "a tensor has at most 2^48 elements");
    }
    elements *= std::max<std::int64_t>(1, extent);
  }
  return {};
}

Status check(const DistAttr& attr, std::size_t dims) {
  if (attr.mesh.size() == 0) return invalid_input("/mesh", "a mesh has at least one rank");
  const std::string place = "/dims_mapping";
  if (attr.dims_mapping.size() != dims) {
    return invalid_input(place, "has " + std::to_string(attr.dims_mapping.size()) +
                                    " entries for a tensor of " + std::to_string(dims) +
                                    (dims == 1 ? " dimension" : " dimensions"));
  }
  std::array<bool, kMaxMeshAxes> used{};
  for (std::size_t dim = 0; dim < dims; ++dim) {
    const int axis = attr.dims_mapping[dim];
    const std::string here = place + "/" + std::to_string(dim);
    if (axis < -1 || axis >= static_cast<int>(attr.mesh.axes())) {
      return invalid_input(here, "the mesh has no axis " + std::to_string(axis));
    }
    if (axis < 0) continue;
    bool& taken = used[static_cast<std::size_t>(axis)];
    if (taken) {
      return invalid_input(here, "axis " + std::to_string(axis) + " splits two dimensions");
    }
    taken = true;
  }
  bool linear = false;
  bool maximum = false;
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == Reduction::kNone) continue;
    if (axis >= attr.mesh.axes()) {
      return invalid_input("/partial", "the mesh has no axis " + std::to_string(axis));
    }
    if (used[axis]) {
      return invalid_input("/partial",
                           "axis " + std::to_string(axis) + " already splits a dimension");
    }
    (attr.partial[axis] == Reduction::kMax ? maximum : linear) = true;
  }
  if (linear && maximum) {
    return invalid_input("/partial", "a maximum cannot be combined with sums or averages");
  }
  return {};
}

Part part_at(const Shape& shape, const DistAttr& attr, std::size_t position) {
  Part part;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    const int mapped = attr.dims_mapping[dim];
    if (mapped < 0) {
      part.push_back({0, shape[dim]});
      continue;
    }
    const auto axis = static_cast<std::size_t>(mapped);
    part.push_back(
        cut(shape[dim], attr.mesh.axis_size(axis), attr.mesh.coordinate(position, axis)));
  }
  return part;
}

bool splits_evenly(const Shape& shape, const DistAttr& attr) {
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (shape[dim] % attr.splits(dim) != 0) return false;
  }
  return true;
}

std::optional<Join> join(const Part& first, const Part& second) {
  Join result;
  std::size_t differing = 0;
  for (std::size_t dim = 0; dim < first.size(); ++dim) {
    if (first[dim] == second[dim]) {
      if (differing == 0 && first[dim].size() == 0) result = {dim, true, first};
      continue;
    }
    ++differing;
    result.dim = dim;
  }
  if (differing == 0 && !result.joined.empty()) return result;
  if (differing != 1) return std::nullopt;
  const Interval& a = first[result.dim];
  const Interval& b = second[result.dim];
  result.first_is_lower = a.end == b.begin;
  if (!result.first_is_lower && a.begin != b.end) return std::nullopt;
  result.joined = first;
  result.joined[result.dim] = {std::min(a.begin, b.begin), std::max(a.end, b.end)};
  return result;
}

}  // namespace shardwright::program
