// Lower bounds for cost instances of any size, by message passing and memory prices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/solve/exact/message_passing.h"
#include "search/operators/solve/exact/price_bundle.h"
#include "search/operators/solve/parameters/solver_parameters.h"

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

  // One round: `sweeps` passes in both directions, in the first round more, then a step of the
  // prices. `target` is the cost of a known choice. Work is counted in matrix entries. Does what is
  // left of a round that has begun.
  void round(int sweeps, double target, Budget& budget);
  // A part of a round, for callers that have more to do meanwhile: a part of a pass of about so
  // much work, or the step of the prices, which ends the round. Returns its work.
  std::uint64_t step(int sweeps, double target, std::uint64_t work);
  bool is_between_rounds() const { return passes_ == 0 && messages_.is_pass_over(); }
  // About what a round after the first costs.
  std::uint64_t work_of_round(int sweeps) const;

  double bound() const { return bound_; }
  // By time point, the prices that gave the bound.
  const std::vector<double>& prices() const { return bundle_.best_prices(); }
  // A stretch of that many rounds has just ended that closed less than this part of the gap to the
  // target.
  bool stalled(int stretch, double progress) const;
  // A lower bound of all choices in which the node takes the strategy, of the round with the best
  // bound.
  double bound_with(std::uint32_t node, std::uint32_t strategy) const {
    return best_previous_ + best_state_.slack[messages_.first_strategy(node) + strategy];
  }
  // A choice that follows the messages of the last round node by node. It may exceed limits and
  // take what is forbidden.
  const std::vector<std::uint32_t>& choice() const { return choice_; }
  // That of the round with the best bound. The others are spoilt where their prices were bad.
  const std::vector<std::uint32_t>& best_choice() const { return best_choice_; }

 private:
  std::uint64_t pass(std::uint64_t work);
  std::uint64_t end_round(double target);
  std::uint64_t take_line(double target);
  std::uint64_t work_of_lines() const;
  void keep_best();

  DualAscentParameters parameters_;
  MessagePassing messages_;
  PriceBundle bundle_;
  std::vector<ChainChoice> lines_;  // by line of the bundle
  std::uint64_t entries_ = 0;       // of all matrices
  int passes_ = 0;                  // of the round that has begun
  double at_prices_ = 0;            // the bound with the prices of now
  double previous_ = 0;             // that of the sweep before
  double best_previous_ = -kForbidden;
  MessagePassing::State best_state_;
  double bound_ = 0;
  double target_ = 0;           // of the last round
  std::vector<double> bounds_;  // after every round, and before the first
  std::vector<std::uint32_t> choice_;
  std::vector<std::uint32_t> best_choice_;
};

}  // namespace shardwright::operators
