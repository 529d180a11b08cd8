// The best strategies of a set of nodes when all others stay: elimination, priced memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/graph/search_state.h"

namespace shardwright::operators {

// Solves blocks one after another; keeps its scratch. Nodes beyond what fits in a table of bounded
// size keep their strategies.
// Thread safety: one thread at a time; several solvers may read one state.
class BlockSolver {
 public:
  struct Outcome {
    // Improves the priced cost, or keeps it with another choice, within all limits.
    bool improved = false;
    double gain = 0;         // of the priced cost
    std::uint64_t work = 0;  // table entries
    // Where memory stood in the way, and what a byte there would have been worth.
    bool blocked = false;
    std::uint32_t blocked_at = 0;
    double worth = 0;
  };

  BlockSolver(const ChoiceGraph& graph, std::size_t max_table);

  void set_max_table(std::size_t max_table) { max_table_ = max_table; }

  // `nodes` are distinct. The changes are in changed() until the next call.
  // `start` differs from the choice of the state only at the nodes; what does not fit in a table
  // keeps it. With `within_limits`, nothing more is held where that exceeds a limit.
  Outcome solve(const SearchState& state, std::span<const std::uint32_t> start,
                std::span<const std::uint32_t> nodes, bool within_limits, std::uint64_t key);

  struct Change {
    std::uint32_t node;
    std::uint32_t strategy;
  };
  std::span<const Change> changed() const { return changed_; }

 private:
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};

  // A function of the strategies of some nodes of the block; the node eliminated first is
  // innermost.
  struct Table {
    std::uint32_t first_scope;
    std::uint32_t scope_size;
    std::size_t first_entry;
  };
  struct Variable {
    std::uint32_t node;
    std::uint32_t first;  // of its entries in base_ and strategy_
    std::uint32_t size;
    std::uint32_t current;   // index of its present strategy
    std::uint32_t position;  // in the elimination, kOutside = keeps its strategy
    std::uint32_t chosen;
  };

  bool load(const SearchState& state, std::span<const std::uint32_t> start,
            std::span<const std::uint32_t> nodes);
  void add_boundary(const SearchState& state, std::span<const std::uint32_t> start,
                    std::uint32_t v);
  void order(std::uint64_t key);
  void choose();
  void make_tables();
  void eliminate(std::uint32_t v);
  void prepare(std::uint32_t v, std::span<const std::uint32_t> scope);
  void reset_tables();
  double cost_before(const SearchState& state) const;
  double cost_after(const SearchState& state) const;
  template <class StrategyOf>
  double block_cost(const SearchState& state, const StrategyOf& strategy_of) const;
  std::int64_t worst_excess(const SearchState& state, std::uint32_t* begin, std::uint32_t* end,
                            std::int64_t* more_there);
  void raise_prices(std::uint32_t begin, std::uint32_t end, double price);

  const ChoiceGraph& graph_;
  std::size_t max_table_;
  std::uint64_t work_ = 0;
  std::vector<std::uint32_t> local_;  // by node, kOutside elsewhere
  std::vector<Variable> variables_;
  std::vector<std::uint32_t> strategy_;
  std::vector<double> base_;  // cost given the nodes outside, with local prices
  std::vector<double> column_;
  std::vector<std::vector<std::uint32_t>> neighbors_;  // by variable, while ordering
  std::vector<std::uint32_t> sequence_;                // variables in elimination order
  std::vector<std::vector<std::uint32_t>> bucket_;     // tables by the variable eliminated first
  std::vector<Table> tables_;
  std::size_t num_pairs_ = 0;  // the first tables are the pairs of the block
  std::size_t pair_entries_ = 0;
  std::size_t pair_scopes_ = 0;
  std::vector<std::uint32_t> scopes_;
  std::vector<double> entries_;
  std::vector<std::vector<std::uint32_t>> scope_of_;  // by variable, latest first
  // For the variable that is eliminated: what changes at each level of its scope.
  struct Step {
    std::uint32_t level;
    std::size_t stride;
  };
  std::vector<std::vector<std::uint32_t>> at_level_;  // tables complete at a level
  std::vector<std::vector<Step>> steps_;              // by table of the bucket
  std::vector<double> partial_;
  std::vector<std::uint32_t> values_;
  std::vector<Change> changed_;
  struct Event {
    std::uint32_t time;
    std::int64_t bytes;
  };
  std::vector<Event> events_;
};

}  // namespace shardwright::operators
