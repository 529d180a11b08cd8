// Finds the best strategies of a set of nodes (a block) while all other nodes keep theirs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/elimination/elimination_order.h"
#include "search/operators/solve/choice_graph.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// The nodes of a block as variables. The values of a variable are the strategies that no neighbour
// outside the block forbids. The base cost of a value is the priced cost of the strategy and of its
// pairs with nodes outside.
// Thread safety: one thread at a time; several blocks may read one state.
class Block {
 public:
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};

  struct Variable {
    std::uint32_t node;
    std::uint32_t first;    // index of its first value in the block
    std::uint32_t size;     // number of values
    std::uint32_t current;  // value of its strategy in `start`
    std::uint32_t chosen;   // value
  };

  explicit Block(const ChoiceGraph& graph) : graph_(&graph), local_(graph.num_nodes(), kOutside) {}

  // `nodes` are distinct. `start`, a choice of all nodes, differs from the choice of the state only
  // at `nodes`. Adds the strategies evaluated to `work`. Returns false if no variable has two
  // values. Call unload() before the next load().
  bool load(const SearchState& state, std::span<const std::uint32_t> start,
            std::span<const std::uint32_t> nodes, std::uint64_t& work);
  void unload();

  const ChoiceGraph& graph() const { return *graph_; }
  std::uint32_t num_variables() const { return static_cast<std::uint32_t>(variables_.size()); }
  const Variable& operator[](std::uint32_t variable) const { return variables_[variable]; }
  // The variable of a node, or kOutside.
  std::uint32_t variable_of(std::uint32_t node) const { return local_[node]; }
  std::uint32_t strategy(std::uint32_t variable, std::uint32_t value) const {
    return strategy_[variables_[variable].first + value];
  }
  // By value of the variable.
  const double* base_costs(std::uint32_t variable) const {
    return base_.data() + variables_[variable].first;
  }

  void choose(std::uint32_t variable, std::uint32_t value) { variables_[variable].chosen = value; }
  void reset_choice();
  // Adds the costs of the pair `arc`, whose other node is in the block and keeps its current value.
  void add_fixed(std::uint32_t variable, const ChoiceGraph::Arc& arc);
  // Adds the price of the bytes held throughout the kept time points [begin, end).
  void add_price(std::uint32_t variable, std::uint32_t begin, std::uint32_t end, double price);

  // The priced cost of the block's nodes and pairs, without prices added since load().
  double cost_of_state(const SearchState& state) const;
  double cost_of_chosen(const SearchState& state) const;

 private:
  void add_variable(const SearchState& state, std::span<const std::uint32_t> start, std::uint32_t v,
                    std::uint64_t& work);
  template <class StrategyOf>
  double cost(const SearchState& state, const StrategyOf& strategy_of) const;

  const ChoiceGraph* graph_;
  std::vector<std::uint32_t> local_;  // by node
  std::vector<Variable> variables_;
  std::vector<std::uint32_t> strategy_;  // by value of the block
  std::vector<double> base_;             // by value of the block
  std::vector<double> column_;           // scratch: by strategy of one node
};

// Keeps its memory from block to block.
// Thread safety: one thread at a time.
class BlockElimination {
 public:
  struct Limits {
    std::size_t table;  // sums that eliminating one variable may take
    int draws;          // BlockSolverParameters::draws
  };

  // Orders the variables of the block and fills the tables of its pairs. If the next variable would
  // need too large a table, a variable drawn by `key` keeps its current value. Adds the entries
  // filled to `work`.
  void prepare(Block& block, const Limits& limits, std::uint64_t key, std::uint64_t& work);

  // Chooses the values of least total cost under the present base costs. Ties go to the current
  // value. Adds the sums made to `work`.
  void minimize(Block& block, std::uint64_t& work);

  // Returns false if the variable keeps its current value.
  bool decides(std::uint32_t variable) const {
    return order_.position(variable) != EliminationOrder::kFixed;
  }

 private:
  void choose_order(const Block& block, const Limits& limits, std::uint64_t key);
  void fill_pair_tables(Block& block, std::uint64_t& work);
  void start(const Block& block, const Buckets::Bucket& bucket);

  EliminationOrder order_;
  Buckets buckets_;
  BucketSum<double> sum_;
  std::vector<std::uint32_t> sizes_;  // by variable
  std::vector<Buckets::Pair> pairs_;
  std::vector<std::size_t> first_entry_;  // by pair
  std::vector<double> pair_entries_;
  std::vector<double> messages_;
};

struct ChoiceChange {
  std::uint32_t node;
  std::uint32_t strategy;
};

// The largest excess of bytes over the limits.
struct Excess {
  std::int64_t bytes = 0;  // 0: all limits hold
  // The changes hold `more` bytes than the present choice at the kept time points [begin, end).
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::int64_t more = 0;
};

// Keeps its scratch. Thread safety: one thread at a time.
class ExcessFinder {
 public:
  // The largest excess at a time point where the changes hold more than the choice of the state.
  // Cost: O(usages * log times).
  Excess largest(const SearchState& state, std::span<const ChoiceChange> changes);

 private:
  struct Event {
    std::uint32_t time;
    std::int64_t bytes;
  };
  std::vector<Event> events_;
};

// Solves blocks one after another. Bucket elimination minimises the priced cost exactly. If the
// result exceeds a limit, bytes there get a higher price and the block is solved again.
// Thread safety: one thread at a time; several solvers may read one state.
class BlockSolver {
 public:
  struct Outcome {
    bool improved = false;   // changed() lowers the priced cost, within the limits if required
    double gain = 0;         // of the priced cost
    std::uint64_t work = 0;  // strategies evaluated, and table entries
    // Set if a cheaper choice exceeded a limit: the most exceeded time point of the first such
    // choice, and its gain per byte there.
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
  // that is not decided keeps its strategy of `start`. With `within_limits`, the changes add no
  // bytes at a time point whose limit is then exceeded. The changes are in changed() until the next
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
