#include "core/program/simulator/tensor_values.h"

#include <algorithm>

#include "core/interner.h"

namespace shardwright::program {
namespace {

using redistribution::ReduceOp;

// The index of a rank among those that hold terms of the same elements.
std::int64_t term_of(const RankPlacement& placed, std::size_t position) {
  std::int64_t term = 0;
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (!placed.placement.is_partial(axis)) continue;
    term = term * placed.mesh.axis_size(axis) + placed.mesh.coordinate(position, axis);
  }
  return term;
}

}  // namespace

std::int64_t num_terms(const RankPlacement& placed) {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis)
    product *= placed.placement.is_partial(axis) ? placed.mesh.axis_size(axis) : 1;
  return product;
}

std::int64_t average_divisor(const RankPlacement& placed) {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (placed.placement.on(axis) == redistribution::AxisPlacement::partial(ReduceOp::kAvg))
      product *= placed.mesh.axis_size(axis);
  }
  return product;
}

ReduceOp reduction_of(const RankPlacement& placed) {
  for (std::size_t axis = 0; axis < placed.mesh.axes(); ++axis) {
    if (!placed.placement.is_partial(axis)) continue;
    const ReduceOp op = placed.placement.reduce_op(axis);
    if (op != ReduceOp::kAvg) return op;
  }
  return ReduceOp::kSum;
}

TensorValues::TensorValues(const Shape& shape, const RankPlacement& source)
    : shape_(shape),
      source_(source),
      scale_(average_divisor(source)),
      count_(num_terms(source)),
      op_(reduction_of(source)) {}

Array TensorValues::share(std::size_t position) const {
  const Part part = part_at(shape_, source_, position);
  Array array;
  array.shape = shape_of(part);
  array.values.reserve(static_cast<std::size_t>(num_elements(part)));
  const std::int64_t member = term_of(source_, position);
  for_each_element(shape_, part,
                   [&](std::size_t flat) { array.values.push_back(term(flat, member)); });
  return array;
}

std::int64_t TensorValues::noise(std::size_t flat, std::int64_t member) const {
  return static_cast<std::int64_t>(hash_mix(hash_mix(0, flat), static_cast<std::uint64_t>(member)) %
                                   1000);
}

// The terms of an element add up to its value times the divisor of averages. For a maximum or a
// minimum, one term is the value and the others are smaller or larger; for a product, the others are
// 1.
std::int64_t TensorValues::term(std::size_t flat, std::int64_t member) const {
  if (op_ != ReduceOp::kSum) {
    if (noise(flat, -1) % count_ == member) return value(flat);
    if (op_ == ReduceOp::kProduct) return 1;
    const std::int64_t apart = 1 + noise(flat, member);
    return op_ == ReduceOp::kMax ? value(flat) - apart : value(flat) + apart;
  }
  if (member + 1 < count_) return noise(flat, member) * scale_;
  std::int64_t rest = value(flat) * scale_;
  for (std::int64_t other = 0; other + 1 < count_; ++other)
    rest -= noise(flat, other) * scale_;
  return rest;
}

}  // namespace shardwright::program
