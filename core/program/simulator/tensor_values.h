// The values of a simulated tensor, and the terms that ranks of a partial placement hold.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/program/placed/rank_placement.h"
#include "core/program/simulator/array.h"

namespace shardwright::program {

// Every element has a value of its own. Ranks of a partial placement hold pseudo-random terms that
// reduce to it. All values are multiples of the number that averages divide by, so averages are
// exact.
// Thread safety: immutable; refers to its arguments.
class TensorValues {
 public:
  TensorValues(const Shape& shape, const RankPlacement& source);

  // The value of the element with this flat index in the whole tensor.
  std::int64_t value(std::size_t flat) const {
    return (static_cast<std::int64_t>(flat) + 1) * scale_;
  }
  // What the rank at `position` of the source holds.
  Array share(std::size_t position) const;

 private:
  std::int64_t noise(std::size_t flat, std::int64_t member) const;
  std::int64_t term(std::size_t flat, std::int64_t member) const;

  const Shape& shape_;
  const RankPlacement& source_;
  std::int64_t scale_;
  std::int64_t count_;  // terms of an element
  redistribution::ReduceOp op_;
};

// The number of ranks that hold terms of one element: 1 unless the placement is partial.
std::int64_t num_terms(const RankPlacement& placed);
// What the sum of the terms must be divided by.
std::int64_t average_divisor(const RankPlacement& placed);
// How the terms reduce to the value; a sum if there is one term, or if some are averaged.
redistribution::ReduceOp reduction_of(const RankPlacement& placed);

}  // namespace shardwright::program
