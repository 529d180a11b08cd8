#include "search/operators/solve/local/block/block.h"

#include <algorithm>
#include <cstddef>

namespace shardwright::operators {

bool Block::load(const SearchState& state, std::span<const std::uint32_t> start,
                 std::span<const std::uint32_t> nodes, std::uint64_t& work) {
  variables_.clear();
  base_.clear();
  strategy_.clear();
  for (const std::uint32_t n : nodes) {
    local_[n] = num_variables();
    variables_.push_back({n, 0, 0, 0, 0});
  }
  for (std::uint32_t v = 0; v < num_variables(); ++v)
    add_variable(state, start, v, work);
  return std::any_of(variables_.begin(), variables_.end(),
                     [](const Variable& variable) { return variable.size > 1; });
}

void Block::unload() {
  for (const Variable& variable : variables_)
    local_[variable.node] = kOutside;
}

void Block::add_variable(const SearchState& state, std::span<const std::uint32_t> start,
                         std::uint32_t v, std::uint64_t& work) {
  Variable& variable = variables_[v];
  const std::uint32_t n = variable.node, size = graph_->num_strategies(n);
  const double* priced = state.priced.data() + graph_->first_strategy(n);
  column_.assign(priced, priced + size);
  work += size;
  for (const ChoiceGraph::Arc& arc : graph_->arcs(n)) {
    if (local_[arc.node] != kOutside) continue;
    const double* row = graph_->row(n, arc, start[arc.node]);
    for (std::uint32_t s = 0; s < size; ++s)
      column_[s] += row[s];
    work += size;
  }
  variable.first = static_cast<std::uint32_t>(base_.size());
  for (std::uint32_t s = 0; s < size; ++s) {
    if (column_[s] == kForbidden) continue;
    if (s == start[n]) {
      variable.current = static_cast<std::uint32_t>(base_.size()) - variable.first;
    }
    base_.push_back(column_[s]);
    strategy_.push_back(s);
  }
  variable.size = static_cast<std::uint32_t>(base_.size()) - variable.first;
}

void Block::reset_choice() {
  for (Variable& variable : variables_)
    variable.chosen = variable.current;
}

void Block::add_fixed(std::uint32_t v, const ChoiceGraph::Arc& arc) {
  const Variable& variable = variables_[v];
  const std::uint32_t other = local_[arc.node];
  const double* row = graph_->row(variable.node, arc, strategy(other, variables_[other].current));
  for (std::uint32_t i = 0; i < variable.size; ++i)
    base_[variable.first + i] += row[strategy_[variable.first + i]];
}

void Block::add_price(std::uint32_t v, std::uint32_t begin, std::uint32_t end, double price) {
  const Variable& variable = variables_[v];
  for (const ChoiceGraph::Usage& usage : graph_->usages(variable.node)) {
    if (usage.begin > begin || usage.end < end) continue;
    const std::int64_t* bytes = graph_->bytes(usage);
    for (std::uint32_t i = 0; i < variable.size; ++i) {
      base_[variable.first + i] +=
          price * static_cast<double>(bytes[strategy_[variable.first + i]]);
    }
  }
}

template <class StrategyOf>
double Block::cost(const SearchState& state, const StrategyOf& strategy_of) const {
  double cost = 0;
  for (std::uint32_t v = 0; v < num_variables(); ++v) {
    const std::uint32_t n = variables_[v].node, s = strategy_of(v);
    cost += state.priced[graph_->first_strategy(n) + s];
    for (const ChoiceGraph::Arc& arc : graph_->arcs(n)) {
      const std::uint32_t w = local_[arc.node];
      if (w != kOutside && w < v) continue;
      cost += graph_->row(n, arc, w == kOutside ? state.choice[arc.node] : strategy_of(w))[s];
    }
  }
  return cost;
}

double Block::cost_of_state(const SearchState& state) const {
  return cost(state, [&](std::uint32_t v) { return state.choice[variables_[v].node]; });
}

double Block::cost_of_chosen(const SearchState& state) const {
  return cost(state, [&](std::uint32_t v) { return strategy(v, variables_[v].chosen); });
}

}  // namespace shardwright::operators
