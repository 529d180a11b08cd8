// Lower bounds for cost instances of any size, by message passing and memory prices.
#pragma once

#include <cstdint>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/solve/parameters/exact_parameters.h"

namespace shardwright::operators {

// A lower bound that rises round by round. Messages move costs between nodes and edges so that the
// sum of the minima over chains of nodes grows (tree-reweighted message passing). Bytes at time
// points whose limit is exceeded get a price (Lagrangian relaxation, subgradient steps). The sum is
// a bound for any messages and prices, and approaches that of the linear relaxation.
// Memory: two messages per edge.
// Source: Kolmogorov, Convergent tree-reweighted message passing for energy minimization, 2006.
// Thread safety: one thread at a time.
class DualAscent {
 public:
  // `prices` by time point, to start from; empty = all 0.
  explicit DualAscent(const CostInstance& instance, std::vector<double> prices = {},
                      const DualAscentParameters& parameters = {});

  // One round: `sweeps` passes in both directions, then a step of the prices towards `target`, the
  // cost of a known choice. Work is counted in matrix entries.
  void round(int sweeps, double target, Budget& budget);

  double bound() const { return bound_; }
  // By time point, the prices that gave the bound.
  const std::vector<double>& prices() const { return best_prices_; }
  // The bound has stopped rising.
  bool stalled() const { return step_ < parameters_.least_step; }
  // A lower bound of all choices in which the node takes the strategy, as of the last pass.
  double bound_with(std::uint32_t node, std::uint32_t strategy) const {
    return last_bound_ + slack_[first_cost_[node] + strategy];
  }
  // A choice that follows the messages node by node. It may exceed limits and take what is
  // forbidden.
  const std::vector<std::uint32_t>& choice() const { return choice_; }

 private:
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
  DualAscentParameters parameters_;
  std::vector<std::vector<Link>> links_;  // by node; neighbours that come earlier first
  std::vector<std::uint32_t> earlier_;    // by node: number of links to earlier neighbours
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
