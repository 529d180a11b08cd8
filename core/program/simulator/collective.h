// What the members of a collective hold, and what they make of it together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "core/program/reshard_plan.h"
#include "core/program/simulator/array.h"

namespace shardwright::program {

// Two terms of an element as one. Those of an average are added.
std::int64_t combine(std::int64_t a, std::int64_t b, redistribution::ReduceOp op);

// The tensors of all members, in the order of the group. What several members ask for is made once,
// so a collective costs O(members * elements) in all and not that much for each member.
// Invariant: there is a tensor, and all have one shape; those that are gathered or exchanged may
// differ in the dimension that is joined.
// Thread safety: one thread at a time.
class Collective {
 public:
  explicit Collective(std::vector<Array> tensors) : tensors_(std::move(tensors)) {}

  const std::vector<Array>& tensors() const { return tensors_; }
  // Of the first one.
  const Shape& shape() const { return tensors_.front().shape; }
  // All tensors in a row along the dimension.
  const Array& joined(std::size_t dim);
  const Array& reduced(redistribution::ReduceOp op);

 private:
  std::vector<Array> tensors_;
  std::map<std::size_t, Array> joined_;
  std::map<redistribution::ReduceOp, Array> reduced_;
};

}  // namespace shardwright::program
