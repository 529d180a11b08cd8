// Finds what each rank must receive, and which ranks hold it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/transfer/transfer_problem.h"
#include "search/budget.h"

namespace shardwright::redistribution {

// The distinct shards of a tensor in a layout. Every dimension is cut into intervals. A mesh axis
// shards at most one dimension, so every combination of intervals, one per dimension, is the shard
// of at least one rank. Such a combination is a cell. Thread safety: a value.
class ShardGrid {
 public:
  // `places`: by device of the layout's mesh, the index of its rank in TransferProblem::ranks().
  // O(devices * dimensions * log pieces).
  ShardGrid(const TransferProblem& problem, const Shape& shape, const TensorLayout& layout,
            const std::vector<std::uint32_t>& places);

  std::size_t num_cells() const { return holders_.size(); }
  Box box(std::size_t cell) const;
  // The ranks that hold the cell, as indices into TransferProblem::ranks(), ascending.
  const std::vector<std::uint32_t>& holders(std::size_t cell) const { return holders_[cell]; }
  // Sets `cells` to the numbers of the cells that overlap the box, ascending.
  void cells_overlapping(const Box& box, std::vector<std::uint32_t>& cells) const;

 private:
  std::vector<std::vector<Interval>> parts_;         // by dimension, ascending and without gaps
  std::vector<std::vector<std::uint32_t>> holders_;  // by cell, in row-major order
};

// A box of elements, in every tensor of a group, that some ranks of one host (the receivers) want
// and do not hold. The holders are all ranks that hold the box.
struct WantedPiece {
  std::uint32_t holders = 0;    // index into Demands::sets
  std::uint32_t receivers = 0;  // index into Demands::sets
  std::uint32_t group = 0;      // index into TransferProblem::groups()
  std::uint32_t box = 0;   // index into Demands::boxes
  std::int64_t bytes = 0;  // of one copy, for all tensors of the group
};

// A box of elements that a rank both holds and wants, in every tensor of a group.
struct KeptPiece {
  std::uint32_t rank = 0;   // index into TransferProblem::ranks()
  std::uint32_t group = 0;  // index into TransferProblem::groups()
  std::uint32_t box = 0;    // index into Demands::boxes
};

// Pieces with the same holders and the same receivers. All receivers are on one host.
struct SharedNeed {
  std::uint32_t receivers = 0;
  std::size_t first = 0;   // index into Demands::wanted
  std::size_t last = 0;    // one past the last
  std::int64_t bytes = 0;  // of one copy
};

// Pieces with the same holders. All receivers are on one host.
struct Need {
  std::uint32_t holders = 0;
  std::uint32_t host = 0;
  std::size_t first = 0;    // index into Demands::shared
  std::size_t last = 0;     // one past the last
  std::int64_t bytes = 0;   // of all copies
  std::int64_t single = 0;  // of one copy of each piece
};

struct Demands {
  // The distinct sets of ranks that hold or want the same elements. Each set has indices into
  // TransferProblem::ranks(), ascending.
  std::vector<std::vector<std::uint32_t>> sets;
  std::vector<Box> boxes;
  std::vector<WantedPiece> wanted;  // sorted by holders, host, receivers, group, box
  std::vector<KeptPiece> kept;      // sorted by group
  std::vector<SharedNeed> shared;   // in the order of `wanted`
  std::vector<Need> needs;          // in the order of `shared`
  // By rank: the number of its host, from 0 in ascending order of hosts; all 0 without hosts.
  std::vector<std::uint32_t> host_of;
  std::uint32_t num_hosts = 1;
};

// Finds the pieces to send: cuts every target shard at the ends of source shards. Tensors of equal
// shape and layout share one grid. Returns nullopt if the budget was interrupted. Adds the number
// of pairs of overlapping shards to `work`.
std::optional<Demands> find_demands(const TransferProblem& problem, const Budget& budget,
                                    std::uint64_t& work);

}  // namespace shardwright::redistribution
