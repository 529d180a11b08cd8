#include "search/operators/solve/graph/consistent_domains.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"

namespace shardwright::operators {

ConsistentDomains::ConsistentDomains(const ChoiceGraph& graph)
    : graph_(graph),
      alive_(graph.num_strategies(), 1),
      left_(graph.num_nodes()),
      queued_(graph.num_nodes(), 0) {
  first_arc_.push_back(0);
  for (std::uint32_t n = 0; n < graph.num_nodes(); ++n) {
    left_[n] = graph.num_strategies(n);
    for (const ChoiceGraph::Arc& arc : graph.arcs(n)) {
      const std::size_t size =
          std::size_t{graph.num_strategies(n)} * graph.num_strategies(arc.node);
      restrictive_.push_back(
          std::find(arc.rows, arc.rows + size, kForbidden) != arc.rows + size ? 1 : 0);
    }
    first_arc_.push_back(restrictive_.size());
  }
}

// Returns false if some node has no strategy left.
bool ConsistentDomains::make_consistent() {
  for (std::uint32_t n = 0; n < graph_.num_nodes(); ++n) {
    const auto costs = graph_.costs(n);
    for (std::uint32_t s = 0; s < costs.size(); ++s) {
      if (costs[s] == kForbidden) remove(n, s);
    }
    if (left_[n] == 0) return false;
    enqueue(n);
  }
  return propagate();
}

bool ConsistentDomains::assign(std::uint32_t n, std::uint32_t strategy) {
  for (std::uint32_t s = 0; s < graph_.num_strategies(n); ++s) {
    if (s != strategy && alive(n, s)) remove(n, s);
  }
  enqueue(n);
  return propagate();
}

void ConsistentDomains::undo_to(std::size_t size) {
  for (; removals_.size() > size; removals_.pop_back()) {
    const Removal& removal = removals_.back();
    alive_[graph_.first_strategy(removal.node) + removal.strategy] = 1;
    ++left_[removal.node];
  }
}

void ConsistentDomains::remove(std::uint32_t n, std::uint32_t s) {
  alive_[graph_.first_strategy(n) + s] = 0;
  --left_[n];
  removals_.push_back({n, s});
}

void ConsistentDomains::enqueue(std::uint32_t n) {
  if (queued_[n] != 0) return;
  queued_[n] = 1;
  queue_.push_back(n);
}

// Removes the strategies of the neighbour that no strategy of the node may be combined with.
bool ConsistentDomains::revise(std::uint32_t n, const ChoiceGraph::Arc& arc) {
  const std::uint32_t m = arc.node, size = graph_.num_strategies(n);
  const std::uint8_t* own = alive_.data() + graph_.first_strategy(n);
  std::uint32_t single = 0;
  if (left_[n] == 1) {
    single = static_cast<std::uint32_t>(std::find(own, own + size, 1) - own);
  }
  bool changed = false;
  for (std::uint32_t t = 0; t < graph_.num_strategies(m); ++t) {
    if (!alive(m, t)) continue;
    const double* row = graph_.row(n, arc, t);
    bool supported = false;
    if (left_[n] == 1) {
      supported = row[single] < kForbidden;
      ++work_;
    } else {
      std::uint32_t s = 0;
      while (s < size && !(own[s] != 0 && row[s] < kForbidden))
        ++s;
      supported = s < size;
      work_ += s + 1;
    }
    if (!supported) {
      remove(m, t);
      changed = true;
    }
  }
  return changed;
}

bool ConsistentDomains::propagate() {
  bool consistent = true;
  std::size_t head = 0;
  while (head < queue_.size()) {  // grows inside
    const std::uint32_t n = queue_[head++];
    queued_[n] = 0;
    if (!consistent) continue;
    const auto arcs = graph_.arcs(n);
    for (std::size_t a = 0; a < arcs.size() && consistent; ++a) {
      if (restrictive_[first_arc_[n] + a] == 0 || left_[arcs[a].node] == 0) continue;
      if (revise(n, arcs[a])) {
        consistent = left_[arcs[a].node] > 0;
        enqueue(arcs[a].node);
      }
    }
  }
  queue_.clear();
  return consistent;
}

}  // namespace shardwright::operators
