#include "search/operators/elimination/elimination_order.h"

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

void ScoreQueue::heapify() {
  for (std::size_t at = heap_.size() / 2; at-- > 0;)
    sift_down(at);
}

void ScoreQueue::remove(std::uint32_t variable) {
  const std::size_t at = place_[variable];
  const std::uint32_t last = heap_.back();
  heap_.pop_back();
  place_[variable] = kGone;
  if (last == variable) return;
  put(at, last);
  sift_up(at);
  sift_down(place_[last]);
}

void ScoreQueue::update(std::uint32_t variable, double score) {
  const double old = scores_[variable];
  if (score == old) return;
  scores_[variable] = score;
  if (score < old) {
    sift_up(place_[variable]);
  } else {
    sift_down(place_[variable]);
  }
}

void ScoreQueue::sift_up(std::size_t at) {
  const std::uint32_t variable = heap_[at];
  while (at > 0) {
    const std::size_t parent = (at - 1) / 2;
    if (!before(variable, heap_[parent])) break;
    put(at, heap_[parent]);
    at = parent;
  }
  put(at, variable);
}

void ScoreQueue::sift_down(std::size_t at) {
  const std::uint32_t variable = heap_[at];
  for (std::size_t child = 2 * at + 1; child < heap_.size(); child = 2 * at + 1) {
    if (child + 1 < heap_.size() && before(heap_[child + 1], heap_[child])) ++child;
    if (!before(heap_[child], variable)) break;
    put(at, heap_[child]);
    at = child;
  }
  put(at, variable);
}

void EliminationOrder::start() {
  order_.clear();
  position_.assign(graph_.num_variables(), kFixed);
}

void EliminationOrder::take(std::uint32_t variable, bool eliminated) {
  if (!eliminated) return graph_.fix(variable);
  graph_.eliminate(variable);
  position_[variable] = static_cast<std::uint32_t>(order_.size());
  order_.push_back(variable);
}

// Leaves out fixed variables. A variable that was fixed after the elimination of its neighbour is
// still in the neighbour's list.
void EliminationOrder::collect_scopes() {
  scopes_.clear();
  scope_begin_.assign(1, 0);
  for (const std::uint32_t variable : order_) {
    const std::size_t begin = scopes_.size();
    for (const std::uint32_t other : graph_.neighbours(variable)) {
      if (position_[other] != kFixed) scopes_.push_back(other);
    }
    std::sort(scopes_.begin() + static_cast<std::ptrdiff_t>(begin), scopes_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return position_[a] > position_[b]; });
    scope_begin_.push_back(scopes_.size());
  }
}

}  // namespace shardwright::operators
