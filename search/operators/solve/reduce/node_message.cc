#include "search/operators/solve/reduce/node_message.h"

#include "search/operators/elimination/buckets.h"

namespace shardwright::operators {
namespace {

// The entries of the edge with the node's own strategies fastest, as the kernel reads them.
const double* own_fastest(const EdgeSide& side, std::size_t own_size,
                          std::vector<double>& scratch) {
  if (side.own_stride == 1) return side.costs;
  const std::size_t entries = own_size * side.other_size;
  if (scratch.size() < entries) scratch.resize(entries);
  double* to = scratch.data();
  for (std::uint32_t k = 0; k < side.other_size; ++k) {
    for (std::uint32_t s = 0; s < own_size; ++s)
      *to++ = side.at(s, k);
  }
  return scratch.data();
}

}  // namespace

void NodeMessage::send(std::span<const double> costs, std::span<const EdgeSide> edges) {
  const auto own_size = static_cast<std::uint32_t>(costs.size());
  const std::size_t count = edges.size();
  std::array<const double*, kMaxEdges> tables{};
  std::array<std::uint32_t, kMaxEdges> sizes{};
  std::array<std::size_t, kMaxEdges * kMaxEdges> strides{};
  size_ = 1;
  for (std::size_t e = 0; e < count; ++e) {
    tables[e] = own_fastest(edges[e], own_size, packed_[e]);
    sizes[e] = edges[e].other_size;
    strides[e * count + e] = own_size;
    size_ *= edges[e].other_size;
  }
  if (costs_.size() < size_) {
    costs_.resize(size_);
    best_.resize(size_);
  }
  // Each edge depends on one neighbour, so the level of a factor follows from its index.
  constexpr std::array<std::uint32_t, kMaxEdges> kLevels{1, 2};
  const BucketShape shape{own_size, std::span(sizes).first(count), std::span(kLevels).first(count),
                          strides.data()};
  sum_.start(shape, costs.data(), [&](std::size_t f) { return tables[f]; });
  sum_.send(costs_.data(), best_.data());
}

}  // namespace shardwright::operators
