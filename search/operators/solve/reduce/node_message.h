// Minimises a node out of the edges to its neighbours.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/elimination/bucket_sum.h"

namespace shardwright::operators {

// An edge as one of its ends sees it.
struct EdgeSide {
  const double* costs;
  std::size_t own_stride;
  std::size_t other_stride;
  std::uint32_t other;
  std::uint32_t other_size;

  double at(std::uint32_t own, std::uint32_t partner) const {
    return costs[own * own_stride + partner * other_stride];
  }
};

// Keeps its memory from node to node.
// Thread safety: one thread at a time.
class NodeMessage {
 public:
  static constexpr std::size_t kMaxEdges = 2;

  // For each choice of the neighbours, those of the second edge fastest: the least cost of the node
  // with its edges, and the strategy that has it. Precondition: at most kMaxEdges edges.
  void send(std::span<const double> costs, std::span<const EdgeSide> edges);

  std::span<const double> costs() const { return std::span(costs_).first(size_); }
  std::span<const std::uint32_t> best() const { return std::span(best_).first(size_); }

 private:
  std::size_t size_ = 0;
  std::vector<double> costs_;
  std::vector<std::uint32_t> best_;
  BucketSum<double> sum_;
  std::array<std::vector<double>, kMaxEdges> packed_;  // scratch: the tables of the edges
};

}  // namespace shardwright::operators
