#include "core/program/simulator/array.h"

#include "core/check.h"

namespace shardwright::program {

bool lies_within(const Part& part, const Shape& shape) {
  if (part.size() != shape.size()) return false;
  for (std::size_t dim = 0; dim < shape.size(); ++dim) {
    if (part[dim].begin < 0 || part[dim].begin > part[dim].end || part[dim].end > shape[dim]) {
      return false;
    }
  }
  return true;
}

Array slice(const Array& array, const Part& part) {
  SHARDWRIGHT_CHECK(lies_within(part, array.shape));
  Array result;
  result.shape = shape_of(part);
  result.values.reserve(static_cast<std::size_t>(num_elements(part)));
  for_each_element(array.shape, part,
                   [&](std::size_t flat) { result.values.push_back(array.values[flat]); });
  return result;
}

void paste(const Array& piece, const Part& place, Array& array) {
  SHARDWRIGHT_CHECK(lies_within(place, array.shape));
  SHARDWRIGHT_CHECK(shape_of(place) == piece.shape);
  std::size_t next = 0;
  for_each_element(array.shape, place,
                   [&](std::size_t flat) { array.values[flat] = piece.values[next++]; });
}

Array concat(const std::vector<Array>& arrays, std::size_t dim) {
  if (arrays.size() == 1) return arrays.front();  // a scalar has no dimension
  Array result;
  result.shape = arrays.front().shape;
  result.shape[dim] = 0;
  for (const Array& array : arrays)
    result.shape[dim] += array.shape[dim];
  result.values.resize(static_cast<std::size_t>(num_elements(result.shape)));
  Part place = whole(result.shape);
  place[dim] = {0, 0};
  for (const Array& array : arrays) {
    place[dim] = {place[dim].end, place[dim].end + array.shape[dim]};
    paste(array, place, result);
  }
  return result;
}

}  // namespace shardwright::program
