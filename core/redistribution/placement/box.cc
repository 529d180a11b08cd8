#include "core/redistribution/placement/box.h"

#include <algorithm>

namespace shardwright::redistribution {

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

}  // namespace shardwright::redistribution
