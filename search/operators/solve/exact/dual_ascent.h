// Lower bounds for cost instances of any size.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"

namespace shardwright::operators {

// A lower bound that rises while it is worked on: costs are moved between nodes and edges by
// messages so that the sum of the minima over chains of nodes grows (tree-reweighted message
// passing), and bytes at time points whose limit is exceeded get a price (Lagrangian relaxation,
// subgradient steps). Whatever messages and prices are, the sum is a bound; it approaches that of
// the linear relaxation. Memory: two messages per edge. Source: Kolmogorov, Convergent
// tree-reweighted message passing for energy minimization, 2006. Thread safety: none.
class DualAscent {
 public:
  // `prices` by time point, where some are known to be near the best; else empty.
  explicit DualAscent(const CostInstance& instance, std::vector<double> prices = {});

  // One round: `sweeps` passes in both directions, then a step of the prices towards `target`, the
  // cost of a known choice, where there is memory. Work is counted in matrix entries.
  void round(int sweeps, double target, Budget& budget);

  double bound() const { return bound_; }
  // By time point, those of the bound.
  const std::vector<double>& prices() const { return best_prices_; }
  // The bound has stopped rising.
  bool stalled() const { return step_ < kLeastStep; }
  // No choice in which the node takes the strategy costs less than this, as of the last pass.
  double bound_with(std::uint32_t node, std::uint32_t strategy) const {
    return last_bound_ + slack_[first_cost_[node] + strategy];
  }
  // A choice that follows the messages, node by node; within the limits only by chance.
  const std::vector<std::uint32_t>& choice() const { return choice_; }

 private:
  static constexpr double kLeastStep = 0.02;

  struct Link {
    std::uint32_t other;
    std::size_t to_own;    // where the message to this node begins
    std::size_t to_other;  // where the message to the other node begins
    const double* costs;
    std::size_t own_stride;
    std::size_t other_stride;
  };

  double pass(bool forward);
  double send(std::uint32_t node, const Link& link, double share);
  void gather(std::uint32_t node);
  void decode();
  void move_prices(double target);
  void apply_prices();

  const CostInstance* instance_;
  std::vector<std::vector<Link>> links_;  // by node; neighbours that come earlier first
  std::vector<std::uint32_t> earlier_;    // by node: how many of its links are
  std::vector<double> messages_;
  std::vector<std::size_t> first_cost_;
  std::vector<double> costs_;   // priced, flat by node and strategy
  std::vector<double> prices_;  // by time point
  std::vector<double> best_prices_;
  double step_ = 1;
  int idle_ = 0;
  double bound_ = 0;
  double last_bound_ = 0;      // with the prices of the last pass
  std::vector<double> slack_;  // flat by node and strategy
  std::vector<std::uint32_t> choice_;
  std::vector<double> gathered_;
  std::vector<double> sent_;
};

}  // namespace shardwright::operators
