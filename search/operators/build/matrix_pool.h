// Stores equal cost matrices once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

using CostMatrix = CostInstanceSpec::Matrix;
using CostEdge = CostInstanceSpec::Edge;

// Matrices numbered in the order in which they were first added.
// Thread safety: const members may be called from any thread while nobody adds.
class MatrixPool {
 public:
  // The number of the matrix with this content. O(entries).
  std::uint32_t intern(CostMatrix matrix);

  const CostMatrix& operator[](std::uint32_t i) const { return matrices_[i]; }
  std::size_t size() const { return matrices_.size(); }
  const std::vector<CostMatrix>& matrices() const { return matrices_; }

 private:
  std::vector<CostMatrix> matrices_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

}  // namespace shardwright::operators
