#include "core/program/simulator/tensor_values.h"

#include <algorithm>

#include "core/interner.h"

namespace shardwright::program {
namespace {

// The index of a rank among those that hold terms of the same elements.
std::int64_t term_of(const DistAttr& attr, std::size_t position) {
  std::int64_t term = 0;
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == Reduction::kNone) continue;
    term = term * attr.mesh.axis_size(axis) + attr.mesh.coordinate(position, axis);
  }
  return term;
}

}  // namespace

std::int64_t num_terms(const DistAttr& attr) {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] != Reduction::kNone) product *= attr.mesh.axis_size(axis);
  }
  return product;
}

std::int64_t average_divisor(const DistAttr& attr) {
  std::int64_t product = 1;
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == Reduction::kAvg) product *= attr.mesh.axis_size(axis);
  }
  return product;
}

bool takes_maximum(const DistAttr& attr) {
  return std::find(attr.partial.begin(), attr.partial.end(), Reduction::kMax) != attr.partial.end();
}

TensorValues::TensorValues(const Shape& shape, const DistAttr& source)
    : shape_(shape),
      source_(source),
      scale_(average_divisor(source)),
      count_(num_terms(source)),
      takes_maximum_(takes_maximum(source)) {}

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

// The terms of an element add up to its value times the divisor of averages. For a maximum, one
// term is the value and the others are smaller.
std::int64_t TensorValues::term(std::size_t flat, std::int64_t member) const {
  if (takes_maximum_) {
    const bool holder = noise(flat, -1) % count_ == member;
    return holder ? value(flat) : value(flat) - 1 - noise(flat, member);
  }
  if (member + 1 < count_) return noise(flat, member) * scale_;
  std::int64_t rest = value(flat) * scale_;
  for (std::int64_t other = 0; other + 1 < count_; ++other)
    rest -= noise(flat, other) * scale_;
  return rest;
}

}  // namespace shardwright::program
