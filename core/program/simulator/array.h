// Small dense arrays of integers, for the simulator.
#pragma once

#include <cstdint>
#include <vector>

#include "core/program/part.h"

namespace shardwright::program {

// Row-major.
// Thread safety: a value.
struct Array {
  Shape shape;
  std::vector<std::int64_t> values;
};

// The box `part` of the array. Precondition: it lies within.
Array slice(const Array& array, const Part& part);
// Writes `piece` into the box `place` of the array. O(elements of the piece).
// Precondition: the box lies within and has the shape of the piece.
void paste(const Array& piece, const Part& place, Array& array);
// All arrays in a row along `dim`. O(elements of the result).
// Precondition: there is an array; the shapes differ at most in `dim`.
Array concat(const std::vector<Array>& arrays, std::size_t dim);
bool lies_within(const Part& part, const Shape& shape);
// Calls visit(flat index in an array of `shape`) for the elements of `part`, in row-major order.
template <class Visit>
void for_each_element(const Shape& shape, const Part& part, const Visit& visit) {
  if (num_elements(part) == 0) return;
  const std::size_t rows = shape.empty() ? 0 : shape.size() - 1;  // dimensions but the last
  const std::int64_t length = shape.empty() ? 1 : part[rows].size();
  Shape at;
  for (const Interval& interval : part)
    at.push_back(interval.begin);
  for (;;) {
    std::int64_t flat = 0;
    for (std::size_t dim = 0; dim < shape.size(); ++dim)
      flat = flat * shape[dim] + at[dim];
    for (std::int64_t i = 0; i < length; ++i)
      visit(static_cast<std::size_t>(flat + i));
    std::size_t dim = rows;
    while (dim > 0 && ++at[dim - 1] == part[dim - 1].end) {
      at[dim - 1] = part[dim - 1].begin;
      --dim;
    }
    if (dim == 0) return;
  }
}

}  // namespace shardwright::program
