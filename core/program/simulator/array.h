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
// Precondition: the shapes differ at most in `dim`.
Array concat(const Array& low, const Array& high, std::size_t dim);
bool lies_within(const Part& part, const Shape& shape);
// Calls visit(flat index in an array of `shape`) for the elements of `part`, in row-major order.
template <class Visit>
void for_each_element(const Shape& shape, const Part& part, const Visit& visit) {
  if (num_elements(part) == 0) return;
  const std::size_t dims = shape.size();
  Shape at;
  for (const Interval& interval : part)
    at.push_back(interval.begin);
  for (;;) {
    std::int64_t flat = 0;
    for (std::size_t dim = 0; dim < dims; ++dim)
      flat = flat * shape[dim] + at[dim];
    visit(static_cast<std::size_t>(flat));
    std::size_t dim = dims;
    while (dim > 0 && ++at[dim - 1] == part[dim - 1].end) {
      at[dim - 1] = part[dim - 1].begin;
      --dim;
    }
    if (dim == 0) return;
  }
}

}  // namespace shardwright::program
