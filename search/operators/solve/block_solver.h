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
// outside the block forbids. The base cost of a value is the priced cost of the strategy plus the
// costs of its pairs with nodes outside the block. (Priced cost: cost plus the prices of the bytes
// held.)
// Thread safety: one thread at a time; several blocks may read one state.
class Block {
 public:
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};

  struct Variable {
    std::uint32_t node;
    std::uint32_t first;    // index of its first value in the block
    std::uint32_t size;     // number of values
    std::uint32_t current;  // value of its strategy in `start`
    std::uint32_t chosen;   // value that the solver chose
  };

  explicit Block(const ChoiceGraph& graph) : graph_(&graph), local_(graph.num_nodes(), kOutside) {}

  // `nodes` are distinct. `start` is a choice of all nodes that equals the choice of the state
  // except at `nodes`. Adds the number of evaluated strategies to `work`. Returns false if no
  // variable has two values. Call unload() before the next load().
  bool load(const SearchState& state, std::span<const std::uint32_t> start,
            std::span<const std::uint32_t> nodes, std::uint64_t& work);
  void unload();

  const ChoiceGraph& graph() const { return *graph_; }
  std::uint32_t num_variables() const { return static_cast<std::uint32_t>(variables_.size()); }
  const Variable& operator[](std::uint32_t variable) const { return variables_[variable]; }
  // Returns the variable of a node, or kOutside.
  std::uint32_t variable_of(std::uint32_t node) const { return local_[node]; }
  std::uint32_t strategy(std::uint32_t variable, std::uint32_t value) const {
    return strategy_[variables_[variable].first + value];
  }
  // Returns the base costs by value of the variable.
  const double* base_costs(std::uint32_t variable) const {
    return base_.data() + variables_[variable].first;
  }

  void choose(std::uint32_t variable, std::uint32_t value) { variables_[variable].chosen = value; }
  void reset_choice();
  // Adds the costs of the pair `arc` to the base costs. The other node of the pair is in the block
  // and keeps its current value.
  void add_fixed(std::uint32_t variable, const ChoiceGraph::Arc& arc);
  // Adds `price` per byte held during all kept time points [begin, end) to the base costs.
  void add_price(std::uint32_t variable, std::uint32_t begin, std::uint32_t end, double price);

  // The priced cost of the block's nodes and pairs. Prices added since load() do not count.
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
  std::vector<std::uint32_t> strategy_;  // by value: index among the node's strategies
  std::vector<double> base_;             // base costs, by value
  std::vector<double> column_;           // scratch: by strategy of one node
};

// Bucket elimination on a block. Keeps its memory from block to block.
// Thread safety: one thread at a time.
class BlockElimination {
 public:
  struct Limits {
    std::size_t table;  // limit of the sums to eliminate one variable
    int draws;          // BlockSolverParameters::draws
  };

  // Orders the variables of the block and fills the tables of its pairs. If the next variable would
  // need too large a table, a variable drawn by `key` keeps its current value instead. Adds the
  // number of entries filled to `work`.
  void prepare(Block& block, const Limits& limits, std::uint64_t key, std::uint64_t& work);

  // Chooses the values of least total cost for the present base costs. Prefers the current value
  // among equal ones. Adds the number of sums to `work`.
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

// The largest excess of held bytes over the limits.
struct Excess {
  std::int64_t bytes = 0;  // 0: the changes exceed no limit
  // The kept time points [begin, end) of ChoiceGraph. The excess is at one of them.
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
  std::int64_t more = 0;  // bytes that the changes add at each of these time points
};

// Finds the largest excess after changes. Keeps its scratch. Thread safety: one thread at a time.
class ExcessFinder {
 public:
  // Returns the largest excess at the time points where the changes hold more bytes than the choice
  // of the state. Cost: O(usages * log times).
  Excess largest(const SearchState& state, std::span<const ChoiceChange> changes);

 private:
  struct Event {
    std::uint32_t time;
    std::int64_t bytes;
  };
  std::vector<Event> events_;
};

// Solves blocks one after another. Bucket elimination finds the choice of least priced cost. If
// this choice exceeds a limit, the bytes at the exceeded time points get a higher price and the
// block is solved again. Thread safety: one thread at a time; several solvers may read one state.
class BlockSolver {
 public:
  struct Outcome {
    bool improved = false;   // changed() lowers the priced cost and is allowed
    double gain = 0;         // by which the priced cost falls
    std::uint64_t work = 0;  // strategies evaluated, plus table entries
    // Set if a cheaper choice exceeded a limit. The other two describe the first such choice: its
    // most exceeded time point, and its gain per byte there.
    bool blocked = false;
    std::uint32_t blocked_at = 0;
    double gain_per_byte = 0;
  };

  // A node whose elimination would need more than `max_table` sums keeps its strategy.
  BlockSolver(const ChoiceGraph& graph, std::size_t max_table,
              const BlockSolverParameters& parameters = {})
      : parameters_(parameters), block_(graph), max_table_(max_table) {}

  void set_max_table(std::size_t max_table) { max_table_ = max_table; }

  // `nodes` are distinct. `start` equals the choice of the state except at these nodes. A node that
  // is not decided keeps its strategy in `start`. With `within_limits`, the changes add no bytes at
  // a time point that would exceed its limit. changed() holds the changes until the next call.
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
