// Random transfers for property tests.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/random.h"
#include "tests/support/redistribution/transfer_builders.h"

namespace shardwright::test_support {

struct TransferSizes {
  std::size_t ranks = 8;
  std::size_t extent = 7;     // of a dimension, before `multiple`
  std::int64_t multiple = 1;  // every extent is a multiple of this
  bool hosts = false;
};

inline redistribution::RankMesh random_mesh(Random& random, std::string name, std::size_t ranks) {
  redistribution::MeshShape shape;
  std::size_t devices = 1;
  for (std::size_t axes = 1 + random.below(3); axes > 0; --axes) {
    const std::size_t extent = 1 + random.below(std::min<std::size_t>(4, ranks / devices));
    devices *= extent;
    shape.push_back(static_cast<std::int64_t>(extent));
  }
  std::vector<redistribution::Rank> all;
  for (std::size_t i = 0; i < ranks; ++i)
    all.push_back(static_cast<redistribution::Rank>(i));
  for (std::size_t i = 0; i < devices; ++i)
    std::swap(all[i], all[i + random.below(ranks - i)]);
  all.resize(devices);
  return {std::move(name), std::move(shape), std::move(all)};
}

// Replicates along each axis or shards any dimension. The order of the shards is random.
inline redistribution::TensorLayout random_layout(Random& random, std::uint32_t mesh,
                                                  std::size_t num_axes, std::size_t num_dims) {
  redistribution::Placement placement;
  std::vector<std::size_t> axes;
  for (std::size_t axis = 0; axis < num_axes; ++axis)
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(random.below(axes.size() + 1)), axis);
  for (const std::size_t axis : axes) {
    if (num_dims > 0 && random.below(3) > 0)
      placement = placement.with_shard(axis, random.below(num_dims));
  }
  return {
      mesh, placement,
      random.below(4) == 0 ? redistribution::Rounding::kBalanced : redistribution::Rounding::kCeil};
}

inline redistribution::TransferProblem random_transfer(Random& random, const TransferSizes& sizes) {
  redistribution::TransferSpec spec;
  for (std::size_t i = 0; i < 4; ++i)
    spec.meshes.push_back(random_mesh(random, "m" + std::to_string(i), sizes.ranks));
  for (std::size_t n = 1 + random.below(4); n > 0; --n) {
    redistribution::TransferTensor tensor;
    for (std::size_t dims = random.below(4); dims > 0; --dims)
      tensor.shape.push_back(static_cast<std::int64_t>(1 + random.below(sizes.extent)) *
                             sizes.multiple);
    tensor.item_bytes = static_cast<std::int64_t>(1 + random.below(3));
    for (redistribution::TensorLayout* layout : {&tensor.source, &tensor.target}) {
      const auto mesh = static_cast<std::uint32_t>(random.below(spec.meshes.size()));
      *layout = random_layout(random, mesh, spec.meshes[mesh].shape.size(), tensor.shape.size());
    }
    // Adds one to three equal tensors.
    for (std::size_t copies = 1 + random.below(3); copies > 0; --copies) {
      tensor.name = "t" + std::to_string(spec.tensors.size());
      spec.tensors.push_back(tensor);
    }
  }
  if (sizes.hosts) {
    spec.hosts = redistribution::TransferHosts{static_cast<std::int64_t>(1 + random.below(4)),
                                               static_cast<double>(1 + random.below(9)),
                                               static_cast<double>(1 + random.below(4))};
  }
  return problem_of(std::move(spec));
}

}  // namespace shardwright::test_support
