#include "search/operators/autoshard/elimination_order.h"

#include <algorithm>
#include <limits>

namespace shardwright::operators::autoshard {
namespace {

constexpr std::size_t kEliminated = std::numeric_limits<std::size_t>::max();

bool contains(const std::vector<std::uint32_t>& sorted, std::uint32_t value) {
  return std::binary_search(sorted.begin(), sorted.end(), value);
}

}  // namespace

std::optional<std::uint32_t> EliminationOrder::choose(const PairwiseModel& model) {
  if (!choose(model, Rule::kFewestNeighbours)) return std::nullopt;
  return choose(model, Rule::kFewestNewPairs);
}

std::optional<std::uint32_t> EliminationOrder::choose(const PairwiseModel& model, Rule rule) {
  const std::size_t count = model.variables().size();
  connect(model);
  order_.clear();
  scopes_.clear();
  scope_begin_.assign(1, 0);
  states_.clear();
  total_states_ = 0;
  position_.assign(count, 0);
  scores_.resize(count);
  for (std::uint32_t v = 0; v < count; ++v)
    scores_[v] = score(v, rule);
  while (order_.size() < count) {
    const std::uint32_t variable = next_variable();
    if (!record(model, variable)) return variable;
    eliminate(variable, rule);
  }
  return std::nullopt;
}

void EliminationOrder::connect(const PairwiseModel& model) {
  const std::size_t count = model.variables().size();
  if (neighbours_.size() < count) neighbours_.resize(count);
  for (std::size_t v = 0; v < count; ++v)
    neighbours_[v].clear();
  for (const PairwiseModel::Pair& pair : model.pairs()) {
    neighbours_[pair.first].push_back(pair.second);
    neighbours_[pair.second].push_back(pair.first);
  }
  for (std::size_t v = 0; v < count; ++v) {
    std::sort(neighbours_[v].begin(), neighbours_[v].end());
  }
}

std::uint32_t EliminationOrder::next_variable() const {
  const auto least = std::min_element(scores_.begin(), scores_.end());
  return static_cast<std::uint32_t>(least - scores_.begin());
}

// Returns whether the states still suffice.
bool EliminationOrder::record(const PairwiseModel& model, std::uint32_t variable) {
  std::size_t states = 1;
  for (const std::uint32_t neighbour : neighbours_[variable]) {
    states *= model.variables()[neighbour].size;
    if (states > kMaxStates) return false;
  }
  total_states_ += states;
  if (total_states_ > kMaxStates) return false;
  position_[variable] = static_cast<std::uint32_t>(order_.size());
  order_.push_back(variable);
  scopes_.insert(scopes_.end(), neighbours_[variable].begin(), neighbours_[variable].end());
  scope_begin_.push_back(scopes_.size());
  states_.push_back(states);
  return true;
}

void EliminationOrder::eliminate(std::uint32_t variable, Rule rule) {
  const std::vector<std::uint32_t>& scope = neighbours_[variable];
  scores_[variable] = kEliminated;
  for (const std::uint32_t neighbour : scope) {
    merged_.clear();
    std::set_union(neighbours_[neighbour].begin(), neighbours_[neighbour].end(), scope.begin(),
                   scope.end(), std::back_inserter(merged_));
    std::erase_if(merged_, [&](std::uint32_t v) { return v == variable || v == neighbour; });
    neighbours_[neighbour].assign(merged_.begin(), merged_.end());
  }
  for (const std::uint32_t neighbour : scope) {
    scores_[neighbour] = score(neighbour, rule);
    if (rule == Rule::kFewestNeighbours) continue;
    // A new pair is also one fewer to connect for those who know both.
    for (const std::uint32_t further : neighbours_[neighbour]) {
      scores_[further] = score(further, rule);
    }
  }
}

std::size_t EliminationOrder::score(std::uint32_t variable, Rule rule) const {
  const std::vector<std::uint32_t>& scope = neighbours_[variable];
  if (rule == Rule::kFewestNeighbours) return scope.size();
  std::size_t missing = 0;
  for (std::size_t i = 0; i < scope.size(); ++i) {
    for (std::size_t j = i + 1; j < scope.size(); ++j) {
      missing += contains(neighbours_[scope[i]], scope[j]) ? 0U : 1U;
    }
  }
  return missing;
}

}  // namespace shardwright::operators::autoshard
