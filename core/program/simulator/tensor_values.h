// The numbers in a simulated tensor, and how partial placements hide them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/program/dist_attr.h"
#include "core/program/simulator/array.h"

namespace shardwright::program {

// Every element has its own value. Ranks of a partial placement hold random terms that reduce to
// it. All values are multiples of the number of ranks that averages divide by, so averages are
// exact.
// Thread safety: immutable; refers to its arguments.
class TensorValues {
 public:
  TensorValues(const Shape& shape, const DistAttr& source);

  // Of an element, by its flat index in the whole tensor.
  std::int64_t value(std::size_t flat) const {
    return (static_cast<std::int64_t>(flat) + 1) * scale_;
  }
  // What the rank at `position` of the source holds.
  Array share(std::size_t position) const;

 private:
  std::int64_t noise(std::size_t flat, std::int64_t member) const;
  std::int64_t term(std::size_t flat, std::int64_t member) const;

  const Shape& shape_;
  const DistAttr& source_;
  std::int64_t scale_;
};

// How many ranks hold terms of the same element: 1 unless the placement is partial.
std::int64_t num_terms(const DistAttr& attr);
// What the sum of the terms must be divided by.
std::int64_t average_divisor(const DistAttr& attr);
// Returns true if the largest term counts, instead of the sum.
bool takes_maximum(const DistAttr& attr);

}  // namespace shardwright::program
