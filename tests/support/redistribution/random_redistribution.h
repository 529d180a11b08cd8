// Random tensors on random meshes, with random placements: any order of shards, partial values,
// uneven pieces.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/redistribution/placement/placement.h"
#include "search/redistribution/visit_moves.h"
#include "tests/support/random.h"

namespace shardwright::test_support {

struct RandomLimits {
  std::size_t most_axes = 4;
  std::size_t most_dims = 5;
  std::size_t most_devices = 24;
  bool partial = true;
};

inline redistribution::TensorOnMesh random_tensor(Random& random, const RandomLimits& limits) {
  redistribution::TensorOnMesh tensor;
  const std::size_t axes = 1 + random.below(limits.most_axes);
  std::size_t devices = 1;
  while (tensor.mesh.size() < axes) {
    const std::size_t size = 1 + random.below(4);
    if (devices * size > limits.most_devices) break;
    tensor.mesh.push_back(static_cast<std::int64_t>(size));
    devices *= size;
  }
  const std::size_t dims = 1 + random.below(limits.most_dims);
  for (std::size_t dim = 0; dim < dims; ++dim) {
    // Most extents are small and divide unevenly. Some are 0.
    const std::size_t size = random.below(16) == 0 ? 0 : 1 + random.below(dims > 3 ? 5 : 9);
    tensor.shape.push_back(static_cast<std::int64_t>(size));
  }
  return tensor;
}

// All partial axes have the reduction `op`.
inline redistribution::Placement random_placement(Random& random,
                                                  const redistribution::TensorOnMesh& tensor,
                                                  bool partial, redistribution::ReduceOp op) {
  using namespace redistribution;
  std::vector<std::uint8_t> axes;
  for (std::size_t axis = 0; axis < tensor.mesh.size(); ++axis)
    axes.push_back(static_cast<std::uint8_t>(axis));
  for (std::size_t i = axes.size(); i > 1; --i)
    std::swap(axes[i - 1], axes[random.below(i)]);
  Placement placement;
  for (const std::uint8_t axis : axes) {
    const std::size_t choice = random.below(tensor.shape.size() + 2);
    if (choice < tensor.shape.size()) {
      placement = placement.with_shard(axis, choice);
    } else if (choice == tensor.shape.size() && partial) {
      placement = placement.with_partial(axis, op);
    }
  }
  return placement;
}

struct RandomPair {
  redistribution::TensorOnMesh tensor;
  redistribution::Placement source;
  redistribution::Placement target;
};

// Only the source has partial products, because no device can turn a value into factors.
inline RandomPair random_pair(Random& random, const RandomLimits& limits = {}) {
  using redistribution::ReduceOp;
  constexpr ReduceOp kOps[] = {ReduceOp::kSum, ReduceOp::kAvg, ReduceOp::kMin, ReduceOp::kMax,
                               ReduceOp::kProduct};
  const ReduceOp op = kOps[random.below(5)];
  RandomPair pair;
  pair.tensor = random_tensor(random, limits);
  pair.source = random_placement(random, pair.tensor, limits.partial, op);
  pair.target =
      random_placement(random, pair.tensor, limits.partial && op != ReduceOp::kProduct, op);
  return pair;
}

}  // namespace shardwright::test_support
