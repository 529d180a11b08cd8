// A cost instance in the layout of the local search: rows of pair costs, few time points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// Borrows the instance, which must outlive the graph. Parallel edges become one arc. Drops a time
// point if its limit can only be exceeded together with the limit of a kept time point.
// Thread safety: const members may be called from any thread.
class ChoiceGraph {
 public:
  // A neighbour of a node with K strategies. rows[t * K + s] is the cost of the pair if the
  // neighbour takes strategy t and the node takes strategy s.
  struct Arc {
    std::uint32_t node;
    const double* rows;
  };
  // The node holds bytes(usage)[s] with strategy s, during the kept time points [begin, end).
  struct Usage {
    std::uint32_t begin;
    std::uint32_t end;
    std::size_t first_byte;
  };

  explicit ChoiceGraph(const CostInstance& instance);
  ChoiceGraph(const ChoiceGraph&) = delete;
  ChoiceGraph& operator=(const ChoiceGraph&) = delete;

  std::size_t num_nodes() const { return first_strategy_.size() - 1; }
  std::size_t num_strategies() const { return first_strategy_.back(); }
  std::uint32_t num_strategies(std::size_t node) const {
    return first_strategy_[node + 1] - first_strategy_[node];
  }
  // Index of the node's first strategy in vectors over all strategies.
  std::uint32_t first_strategy(std::size_t node) const { return first_strategy_[node]; }
  std::span<const double> costs(std::size_t node) const {
    return {costs_.data() + first_strategy_[node], num_strategies(node)};
  }
  std::span<const Arc> arcs(std::size_t node) const {
    return {arcs_.data() + first_arc_[node], first_arc_[node + 1] - first_arc_[node]};
  }
  const double* row(std::size_t node, const Arc& arc, std::uint32_t neighbor_strategy) const {
    return arc.rows + std::size_t{neighbor_strategy} * num_strategies(node);
  }
  std::span<const Usage> usages(std::size_t node) const {
    return {usages_.data() + first_usage_[node], first_usage_[node + 1] - first_usage_[node]};
  }
  const std::int64_t* bytes(const Usage& usage) const { return bytes_.data() + usage.first_byte; }
  std::span<const std::int64_t> limits() const { return limits_; }
  // Returns sums by kept time point: adds each element of `by_time` to the next kept time point.
  std::vector<double> at_kept_times(std::span<const double> by_time) const;
  // The nodes whose bytes at some kept time point depend on their strategy.
  std::span<const std::uint32_t> holders() const { return holders_; }

 private:
  void add_arcs(const CostInstance& instance);
  void add_usages(const CostInstance& instance);

  std::vector<std::uint32_t> first_strategy_;
  std::vector<double> costs_;
  std::vector<std::uint32_t> first_arc_;
  std::vector<Arc> arcs_;
  std::deque<std::vector<double>> matrices_;  // matrices that the instance has in another layout
  std::vector<std::uint32_t> first_usage_;
  std::vector<Usage> usages_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> limits_;
  std::vector<std::uint32_t> times_;  // by kept time point: its index in the instance
  std::vector<std::uint32_t> holders_;
};

// The strategies that remain at every node. After every call that returns true, they are arc
// consistent: each strategy is compatible with some remaining strategy of every neighbour. Removals
// can be undone. Source: Mackworth, Consistency in networks of relations, 1977 (AC-3). Thread
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
  std::vector<std::uint8_t> restrictive_;  // by arc: 1 if it forbids a pair
  std::vector<std::uint8_t> queued_;
  std::vector<std::uint32_t> queue_;
  std::vector<Removal> removals_;
  std::uint64_t work_ = 0;
};

// The excess over the limit by time point; negative values are free room. Adds bytes to ranges and
// finds the maximum of ranges in O(log times). It is a segment tree without lazy propagation, so
// queries write nothing. Thread safety: const members may be called from any thread.
class UsageProfile {
 public:
  // Less than any excess, and far enough from the least value that sums cannot overflow.
  static constexpr std::int64_t kNothing = std::numeric_limits<std::int64_t>::min() / 4;

  // Starts with no bytes held.
  explicit UsageProfile(std::span<const std::int64_t> limits);

  // Precondition of the next three: begin < end <= number of time points.
  void add(std::size_t begin, std::size_t end, std::int64_t bytes);
  std::int64_t max_excess(std::size_t begin, std::size_t end) const;
  // Returns the first time point of largest excess in the range.
  std::size_t most_exceeded(std::size_t begin, std::size_t end) const;

  // Returns the maximum over all time points; kNothing without time points.
  std::int64_t max_excess() const { return num_times_ == 0 ? kNothing : largest_[1]; }

 private:
  void refresh(std::size_t i);

  std::size_t num_times_;
  std::size_t leaves_;  // a power of two; time point t is leaf t + 1
  std::vector<std::int64_t>
      largest_;  // by vertex: the maximum of its range without additions above it
  std::vector<std::int64_t> added_;  // by vertex: bytes added to its whole range
};

// The choice, prices and bytes that the workers of the local search share. Workers only read it
// during a batch. Thread safety: const use from any thread.
struct SearchState {
  explicit SearchState(const ChoiceGraph& g);

  const ChoiceGraph& graph;
  std::vector<std::uint32_t> choice;  // by node
  UsageProfile profile;               // of the choice
  std::vector<double> prices;         // of a byte, by kept time point
  std::vector<double> priced;         // cost plus priced bytes, by strategy

  // Sets the choice and recomputes the profile.
  void set_choice(std::span<const std::uint32_t> new_choice);
  void change(std::uint32_t node, std::uint32_t strategy);
  void update_priced();
  // Returns the bytes held above the limit, by kept time point; negative if there is room.
  std::vector<std::int64_t> excess() const;
};

}  // namespace shardwright::operators
