#include "search/operators/elimination/elimination_order.h"

#include <algorithm>

namespace shardwright::operators {

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

// Variables that were fixed after a neighbour was eliminated are still among its neighbours.
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
