// A cost instance in the layout of the local search: rows of pair costs by neighbour, few time
// points.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// Borrows the instance, which must outlive it. Parallel edges become one arc. Drops a time point
// if its limit cannot be exceeded, or only together with the limit of a neighbouring one.
// Thread safety: const members may be called from any thread.
class ChoiceGraph {
 public:
  // A neighbour of a node with K strategies: rows[t * K + s] is the cost of the pair if the
  // neighbour takes t and the node takes s.
  struct Arc {
    std::uint32_t node;
    const double* rows;
  };
  // bytes(usage)[s] during the kept time points [begin, end).
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
  // Where the strategies of a node begin in vectors over all strategies.
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
  // Values by kept time point: those of the instance, each added to the next kept one.
  std::vector<double> at_kept_times(std::span<const double> by_time) const;
  // Nodes whose bytes at some kept time point depend on the strategy.
  std::span<const std::uint32_t> holders() const { return holders_; }

 private:
  void add_arcs(const CostInstance& instance);
  void add_usages(const CostInstance& instance);

  std::vector<std::uint32_t> first_strategy_;
  std::vector<double> costs_;
  std::vector<std::uint32_t> first_arc_;
  std::vector<Arc> arcs_;
  std::deque<std::vector<double>>
      matrices_;  // those that the instance does not have in this layout
  std::vector<std::uint32_t> first_usage_;
  std::vector<Usage> usages_;
  std::vector<std::int64_t> bytes_;
  std::vector<std::int64_t> limits_;
  std::vector<std::uint32_t> times_;  // of the instance, by kept time point
  std::vector<std::uint32_t> holders_;
};

}  // namespace shardwright::operators
