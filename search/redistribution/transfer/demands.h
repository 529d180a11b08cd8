// The distinct shards of a tensor in a layout, as a grid.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/redistribution/transfer/transfer_problem.h"
#include "search/budget.h"

namespace shardwright::redistribution {

// A mesh axis shards at most one dimension, so the intervals of the dimensions combine freely:
// every combination is a cell, the shard of one or more ranks.
// Thread safety: a value.
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
  // Sets `cells` to the cells that overlap the box, ascending.
  void cells_overlapping(const Box& box, std::vector<std::uint32_t>& cells) const;

 private:
  std::vector<std::vector<Interval>> parts_;         // by dimension, ascending and without gaps
  std::vector<std::vector<std::uint32_t>> holders_;  // by cell; the last dimension is innermost
};

// A box, the same in all tensors of a group, that some ranks of one host want. Ranks are indices
// into TransferProblem::ranks().
struct WantedPiece {
  std::uint32_t holders = 0;    // of Demands::sets
  std::uint32_t receivers = 0;  // of Demands::sets
  std::uint32_t group = 0;
  std::uint32_t box = 0;   // of Demands::boxes
  std::int64_t bytes = 0;  // of one copy
};

// A box, the same in all tensors of a group, that a rank both holds and wants.
struct KeptPiece {
  std::uint32_t rank = 0;
  std::uint32_t group = 0;
  std::uint32_t box = 0;
};

// Pieces with the same holders and the same receivers, where the receivers are on one host.
struct SharedNeed {
  std::uint32_t receivers = 0;
  std::size_t first = 0;   // of Demands::wanted
  std::size_t last = 0;    // one after
  std::int64_t bytes = 0;  // of one copy
};

// Pieces with the same holders, whose receivers are on one host.
struct Need {
  std::uint32_t holders = 0;
  std::uint32_t host = 0;
  std::size_t first = 0;    // of Demands::shared
  std::size_t last = 0;     // one after
  std::int64_t bytes = 0;   // of all copies
  std::int64_t single = 0;  // of one copy of each piece
};

struct Demands {
  // Distinct lists of ranks (ascending) that hold or want the same elements.
  std::vector<std::vector<std::uint32_t>> sets;
  std::vector<Box> boxes;
  std::vector<WantedPiece> wanted;  // by holders, host, receivers, group, box
  std::vector<KeptPiece> kept;      // by group
  std::vector<SharedNeed> shared;   // in the order of `wanted`
  std::vector<Need> needs;          // in the order of `shared`
  // By rank: the number of its host, from 0 in ascending order of hosts; all 0 without hosts.
  std::vector<std::uint32_t> host_of;
  std::uint32_t num_hosts = 1;
};

// Finds the pieces to send: cuts every target shard where source shards end. Equal layouts of equal
// shapes are processed once. Returns nullopt if the budget was interrupted. `work` counts pairs of
// overlapping shards.
std::optional<Demands> find_demands(const TransferProblem& problem, const Budget& budget,
                                    std::uint64_t& work);

}  // namespace shardwright::redistribution
