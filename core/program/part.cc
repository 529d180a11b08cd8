#include "core/program/part.h"

#include <algorithm>

namespace shardwright::program {

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
