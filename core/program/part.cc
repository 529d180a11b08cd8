#include "core/program/part.h"

#include <algorithm>

namespace shardwright::program {

Shape shape_of(const Part& part) {
  Shape shape;
  for (const Interval& interval : part)
    shape.push_back(interval.size());
  return shape;
}

std::int64_t num_elements(const Part& part) {
  std::int64_t count = 1;
  for (const Interval& interval : part)
    count *= interval.size();
  return count;
}

std::int64_t num_elements(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t size : shape)
    count *= size;
  return count;
}

Part whole(const Shape& shape) {
  Part part;
  for (const std::int64_t size : shape)
    part.push_back({0, size});
  return part;
}

Interval cut(std::int64_t size, std::int64_t pieces, std::int64_t index) {
  const std::int64_t base = size / pieces;
  const std::int64_t longer = size % pieces;
  const std::int64_t begin = index * base + std::min(index, longer);
  return {begin, begin + base + (index < longer ? 1 : 0)};
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

bool overlap(const Part& a, const Part& b) {
  for (std::size_t dim = 0; dim < a.size(); ++dim) {
    if (a[dim] == b[dim]) continue;
    if (std::max(a[dim].begin, b[dim].begin) >= std::min(a[dim].end, b[dim].end)) return false;
  }
  return true;
}

Part intersection(const Part& a, const Part& b) {
  Part common;
  for (std::size_t dim = 0; dim < a.size(); ++dim) {
    common.push_back({std::max(a[dim].begin, b[dim].begin), std::min(a[dim].end, b[dim].end)});
  }
  return common;
}

Part relative(const Part& inner, const Part& outer) {
  Part part;
  for (std::size_t dim = 0; dim < inner.size(); ++dim) {
    part.push_back({inner[dim].begin - outer[dim].begin, inner[dim].end - outer[dim].begin});
  }
  return part;
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
