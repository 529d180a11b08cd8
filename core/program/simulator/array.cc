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

Array concat(const Array& low, const Array& high, std::size_t dim) {
  Array result;
  result.shape = low.shape;
  result.shape[dim] += high.shape[dim];
  result.values.resize(low.values.size() + high.values.size());
  Part place = whole(result.shape);
  const auto put = [&](const Array& piece) {
    std::size_t next = 0;
    for_each_element(result.shape, place,
                     [&](std::size_t flat) { result.values[flat] = piece.values[next++]; });
  };
  place[dim] = {0, low.shape[dim]};
  put(low);
  place[dim] = {low.shape[dim], result.shape[dim]};
  put(high);
  return result;
}

}  // namespace shardwright::program
