// The best strategies of a set of nodes while all others stay.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/graph/search_state.h"
#include "search/operators/solve/local/block/block.h"
#include "search/operators/solve/local/block/block_elimination.h"
#include "search/operators/solve/local/block/block_excess.h"
#include "search/operators/solve/parameters/block_parameters.h"

namespace shardwright::operators {

// Solves blocks one after another, exactly except for memory: bucket elimination minimises the
// priced cost. If the result exceeds a limit, bytes at that time get a price and the block is
// solved again.
// Thread safety: one thread at a time; several solvers may read one state.
class BlockSolver {
 public:
  struct Outcome {
    bool improved = false;   // changed() lowers the priced cost, within the limits if required
    double gain = 0;         // of the priced cost
    std::uint64_t work = 0;  // strategies evaluated, and table entries
    // Set if a cheaper choice exceeded a limit: the time point where the first one did most, and
    // its gain per byte there.
    bool blocked = false;
    std::uint32_t blocked_at = 0;
    double gain_per_byte = 0;
  };

  // A node whose table would need more than `max_table` sums keeps its strategy.
  BlockSolver(const ChoiceGraph& graph, std::size_t max_table,
              const BlockSolverParameters& parameters = {})
      : parameters_(parameters), block_(graph), max_table_(max_table) {}

  void set_max_table(std::size_t max_table) { max_table_ = max_table; }

  // `nodes` are distinct. `start` differs from the choice of the state only at these nodes; a node
  // that is not decided keeps its strategy of `start`. With `within_limits`, no more bytes are held
  // at a time point whose limit they would exceed. The changes are in changed() until the next
  // call.
  Outcome solve(const SearchState& state, std::span<const std::uint32_t> start,
                std::span<const std::uint32_t> nodes, bool within_limits, std::uint64_t key);

  std::span<const ChoiceChange> changed() const { return changed_; }

 private:
  void search(const SearchState& state, bool within_limits, Outcome& outcome);
  void list_changes(const SearchState& state);

  BlockSolverParameters parameters_;
  Block block_;
  BlockElimination elimination_;
  ExcessFinder excess_;
  std::size_t max_table_;
  std::vector<ChoiceChange> changed_;
};

}  // namespace shardwright::operators
