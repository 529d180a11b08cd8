// Lower bounds for cost instances of any size, by message passing and memory prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/solve/exact/dual/chain_line.h"
#include "search/operators/solve/exact/dual/message_passing.h"
#include "search/operators/solve/exact/dual/price_bundle.h"
#include "search/operators/solve/parameters/exact_parameters.h"

namespace shardwright::operators {

// A lower bound that rises round by round. Messages divide the instance into chains, whose minima
// add up to a bound. Bytes at time points that bind have prices (Lagrangian relaxation). What the
// cheapest chains hold says how the bound depends on the prices, and a bundle of such lines where
// they should move. The bound is valid for any messages and prices, and approaches that of the
// linear relaxation.
// Memory: messages, and the chains of every line of the bundle.
// Thread safety: one thread at a time.
class DualAscent {
 public:
  // `prices` by time point, to start from; empty = all 0.
  explicit DualAscent(const CostInstance& instance, std::vector<double> prices = {},
                      const DualAscentParameters& parameters = {});

  // One round: `sweeps` passes in both directions, then a step of the prices. `target` is the cost
  // of a known choice. Work is counted in matrix entries.
  void round(int sweeps, double target, Budget& budget);

  double bound() const { return bound_; }
  // By time point, the prices that gave the bound.
  const std::vector<double>& prices() const { return bundle_.best_prices(); }
  // The bound has stopped rising.
  bool stalled() const { return stalled_; }
  // A lower bound of all choices in which the node takes the strategy, of the round with the best
  // bound. Precondition: a round was made.
  double bound_with(std::uint32_t node, std::uint32_t strategy) const {
    return best_previous_ + best_state_.slack[messages_.first_strategy(node) + strategy];
  }
  // A choice that follows the messages node by node. It may exceed limits and take what is
  // forbidden.
  const std::vector<std::uint32_t>& choice() const { return choice_; }

 private:
  bool sweep(int sweeps, Budget& budget);
  std::uint64_t take_line(double target);
  void keep_best();
  void watch_progress(double target);

  DualAscentParameters parameters_;
  MessagePassing messages_;
  PriceBundle bundle_;
  std::vector<ChainChoice> lines_;  // by line of the bundle
  std::uint64_t entries_ = 0;       // of all matrices
  double at_prices_ = 0;            // the bound with the prices of now
  double previous_ = 0;             // that of the sweep before
  double best_previous_ = 0;
  MessagePassing::State best_state_;
  double bound_ = 0;
  int rounds_ = 0;
  double watched_ = 0;  // the bound when the last stretch of rounds began
  bool stalled_ = false;
  std::vector<std::uint32_t> choice_;
};

}  // namespace shardwright::operators
