// The strategies that are left of every node after arc consistency.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/operators/solve/graph/choice_graph.h"

namespace shardwright::operators {

// Removes strategies until all are arc consistent, and can undo that. Consistent after every call
// that returns true. Source: Mackworth, Consistency in networks of relations, 1977 (AC-3). Thread
// safety: one thread at a time.
class ConsistentDomains {
 public:
  explicit ConsistentDomains(const ChoiceGraph& graph);

  // Both return false if some node has no strategy left.
  bool make_consistent();
  bool assign(std::uint32_t n, std::uint32_t strategy);

  std::uint32_t left(std::uint32_t n) const { return left_[n]; }
  bool alive(std::uint32_t n, std::uint32_t s) const {
    return alive_[graph_.first_strategy(n) + s] != 0;
  }
  struct Removal {
    std::uint32_t node;
    std::uint32_t strategy;
  };
  const std::vector<Removal>& removals() const { return removals_; }
  void undo_to(std::size_t size);
  // The number of strategies looked at.
  std::uint64_t work() const { return work_; }

 private:
  void remove(std::uint32_t n, std::uint32_t s);
  void enqueue(std::uint32_t n);
  bool revise(std::uint32_t n, const ChoiceGraph::Arc& arc);
  bool propagate();

  const ChoiceGraph& graph_;
  std::vector<std::uint8_t> alive_;  // by strategy
  std::vector<std::uint32_t> left_;  // by node
  std::vector<std::size_t> first_arc_;
  std::vector<std::uint8_t> restrictive_;  // by arc: forbids something
  std::vector<std::uint8_t> queued_;
  std::vector<std::uint32_t> queue_;
  std::vector<Removal> removals_;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::operators
