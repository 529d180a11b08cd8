// A few nodes of a choice graph that are decided together while all others stay.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/graph/search_state.h"

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
    std::uint32_t first;    // of its values among those of the block
    std::uint32_t size;     // number of values
    std::uint32_t current;  // value of its strategy in `start`
    std::uint32_t chosen;   // value
  };

  explicit Block(const ChoiceGraph& graph) : graph_(&graph), local_(graph.num_nodes(), kOutside) {}

  // `nodes` are distinct. `start`, a choice of all nodes, differs from that of the state only at
  // these. Adds the strategies evaluated to `work`. Returns false if there is nothing to decide.
  // Call unload() before the next load().
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
  // Adds the costs of a pair whose other variable, also of the block, keeps its current value.
  void add_fixed(std::uint32_t variable, const ChoiceGraph::Arc& arc);
  // Adds a price per byte held during all of the kept time points [begin, end).
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

}  // namespace shardwright::operators
