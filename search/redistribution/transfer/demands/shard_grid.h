// The distinct shards of a tensor in a layout, as a grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_problem.h"

namespace shardwright::redistribution {

// A mesh axis shards at most one dimension, so the intervals of the dimensions combine freely:
// every combination is a cell, the shard of one or more ranks.
// Thread safety: a value.
class ShardGrid {
 public:
  // `places` has, by device of the layout's mesh, the place of its rank in TransferProblem::ranks().
  // O(devices * dimensions * log pieces).
  ShardGrid(const TransferProblem& problem, const Shape& shape, const TensorLayout& layout,
            const std::vector<std::uint32_t>& places);

  std::size_t num_cells() const { return holders_.size(); }
  Box box(std::size_t cell) const;
  // The places of the ranks that hold the cell, ascending.
  const std::vector<std::uint32_t>& holders(std::size_t cell) const { return holders_[cell]; }
  // Sets `cells` to those that overlap the box, ascending.
  void cells_overlapping(const Box& box, std::vector<std::uint32_t>& cells) const;

 private:
  std::vector<std::vector<Interval>> parts_;  // by dimension, ascending and without gaps
  std::vector<std::vector<std::uint32_t>> holders_;  // by cell; the last dimension is innermost
};

}  // namespace shardwright::redistribution
