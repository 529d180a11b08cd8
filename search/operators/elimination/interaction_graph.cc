#include "search/operators/elimination/interaction_graph.h"

#include <algorithm>

namespace shardwright::operators {

void InteractionGraph::reset(std::size_t num_variables) {
  num_variables_ = num_variables;
  if (neighbours_.size() < num_variables) neighbours_.resize(num_variables);
  for (std::size_t v = 0; v < num_variables; ++v)
    neighbours_[v].clear();
}

void InteractionGraph::sort() {
  for (std::size_t v = 0; v < num_variables_; ++v) {
    std::vector<std::uint32_t>& list = neighbours_[v];
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
}

bool InteractionGraph::adjacent(std::uint32_t a, std::uint32_t b) const {
  return std::binary_search(neighbours_[a].begin(), neighbours_[a].end(), b);
}

void InteractionGraph::fix(std::uint32_t variable) {
  for (const std::uint32_t neighbour : neighbours_[variable]) {
    auto& list = neighbours_[neighbour];
    list.erase(std::lower_bound(list.begin(), list.end(), variable));
  }
}

void InteractionGraph::eliminate(std::uint32_t variable) {
  fix(variable);
  const std::vector<std::uint32_t>& scope = neighbours_[variable];
  for (const std::uint32_t neighbour : scope) {
    auto& list = neighbours_[neighbour];
    auto at = list.begin();
    // Both lists ascend, so each search starts where the last one ended.
    for (const std::uint32_t other : scope) {
      if (other == neighbour) continue;
      at = std::lower_bound(at, list.end(), other);
      if (at == list.end() || *at != other) at = list.insert(at, other);
    }
  }
}

}  // namespace shardwright::operators
