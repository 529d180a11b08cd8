// Tree-reweighted message passing and Lagrangian prices: lower bounds for graphs of any width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/solve/price_bundle.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// Tree-reweighted message passing (TRW-S). The edges are divided into chains of nodes in ascending
// order. A node is in max(1, earlier neighbours, later neighbours) chains, each with an equal share
// of the node's costs. The sum of the chains' minima is a lower bound. Messages move costs between
// nodes and edges so that the sum grows. Costs include priced bytes. Memory: two messages per edge.
// Source: Kolmogorov, Convergent tree-reweighted message passing for energy minimization, 2006.
// Thread safety: one thread at a time; const members may be called from any thread meanwhile.
class MessagePassing {
 public:
  struct Link {
    std::uint32_t other;
    std::size_t to_own;    // index where the message to this node begins
    std::size_t to_other;  // index where the message to `other` begins
    const double* costs;
    std::size_t own_stride;
    std::size_t other_stride;
    std::size_t own_chain;  // number of the link's chain; see first_chain()
    std::size_t other_chain;

    double cost(std::uint32_t own_strategy, std::uint32_t other_strategy) const {
      return costs[own_strategy * own_stride + other_strategy * other_stride];
    }
  };

  // Borrows the instance. `prices`: of a byte, by time point.
  MessagePassing(const CostInstance& instance, std::span<const double> prices);

  void set_prices(std::span<const double> prices);

  // Visits all nodes in ascending (`forward`) or descending order, and sends messages to the
  // neighbours that come later in this order. Returns, after a pass in each direction, a lower
  // bound of every priced cost, less an allowance for rounding.
  double pass(bool forward);
  // The same in parts: visit() continues the pass until it has read about `entries` matrix entries,
  // and returns the number read. pass_bound() is the result once the pass is over.
  void begin_pass(bool forward);
  std::uint64_t visit(std::uint64_t entries);
  bool is_pass_over() const { return visited_ == links_.size(); }
  double pass_bound() const;

  const CostInstance& instance() const { return *instance_; }
  // The neighbours of the node, those with lower numbers first.
  std::span<const Link> links(std::uint32_t node) const { return links_[node]; }
  std::size_t num_earlier(std::uint32_t node) const { return earlier_[node]; }
  // The strategies of a node have consecutive indices.
  std::size_t first_strategy(std::uint32_t node) const { return first_cost_[node]; }
  std::size_t num_messages() const { return messages_.size(); }  // total number of elements
  // The chains of a node have consecutive indices.
  std::size_t first_chain(std::uint32_t node) const { return first_chain_[node]; }
  std::size_t num_chains(std::uint32_t node) const {
    return first_chain_[node + 1] - first_chain_[node];
  }
  // The priced cost of the strategy plus all messages to it, less the minimum over the strategies
  // of the node. Dates from the last backward pass.
  double slack(std::uint32_t node, std::uint32_t strategy) const {
    return slack_[first_cost_[node] + strategy];
  }
  double message(std::size_t at) const { return messages_[at]; }
  // The sum of the minima that slack() subtracts, less price times limit over all time points.
  double base() const { return base_; }
  // Returns a choice, made greedily from the messages, node by node in ascending order.
  std::vector<std::uint32_t> decode() const;

  // What passes have computed, for save() and restore(). Thread safety: a value.
  struct State {
    std::vector<double> messages;
    std::vector<double> slack;
    double base = 0;
  };
  void save(State& state) const;
  // Precondition: this object saved the state, at the current prices.
  void restore(const State& state);

 private:
  void make_links();
  void join_chains();
  std::uint64_t visit_node(std::uint32_t node);
  void take(double least);
  double send(std::uint32_t node, const Link& link, double share);
  void gather(std::uint32_t node);

  const CostInstance* instance_;
  std::vector<std::vector<Link>> links_;  // by node
  std::vector<std::uint32_t> earlier_;    // by node: number of links to earlier neighbours
  std::vector<std::size_t> first_chain_;
  std::vector<double> messages_;
  std::vector<std::size_t> first_cost_;
  std::vector<double> costs_;  // priced, flat by node and strategy
  double granted_ = 0;         // price times limit, over all time points
  std::vector<double> slack_;
  double base_ = 0;
  // State of the pass in progress.
  bool forward_ = true;
  std::size_t visited_ = 0;  // number of nodes; all if no pass is in progress
  double sum_ = 0;           // of the minima subtracted from nodes and messages
  double magnitude_ = 0;
  std::vector<double> gathered_;
  std::vector<double> sent_;
};

// By chain index (first_chain()), the strategy of that chain at that node. The chains of a node may
// take different strategies.
using ChainChoice = std::vector<std::uint32_t>;

// Returns the cheapest choice of every chain. Precondition: the last pass went backward. Cost: the
// sum of strategies over all edges.
ChainChoice cheapest_chains(const MessagePassing& messages);

// Returns the sum of the chains' costs at the current messages and prices, less price * limit. The
// bound is the minimum of this sum over all ChainChoices. Precondition: the last pass went
// backward.
double chain_bound(const MessagePassing& messages, const ChainChoice& choice);

// By time point, the bytes held less the limit. A node holds the mean over its chains.
std::vector<double> chain_excess(const MessagePassing& messages, const ChainChoice& choice);

// A lower bound that rises round by round. It is the bound of MessagePassing, with prices for bytes
// at the time points that bind (Lagrangian relaxation). The excess of the cheapest chains is a
// subgradient of the bound with respect to the prices, and PriceBundle moves the prices by these
// subgradients. It is valid for any messages and prices, and approaches that of the linear
// relaxation. Memory: messages, and the chains of every line of the bundle. Thread safety: one
// thread at a time.
class DualAscent {
 public:
  // `prices`: the first prices, by time point; empty: all 0.
  explicit DualAscent(const CostInstance& instance, std::vector<double> prices = {},
                      const DualAscentParameters& parameters = {});

  // Completes the round in progress, or runs a new one: `sweeps` passes in both directions (more in
  // the first round), then a step of the prices. `target`: the cost of a known choice. Work is
  // counted in matrix entries.
  void round(int sweeps, double target, Budget& budget);
  // Does a part of a round, between other work of the caller: about `work` matrix entries of a
  // pass, or the step of the prices, which ends the round. Returns the work done.
  std::uint64_t step(int sweeps, double target, std::uint64_t work);
  bool is_between_rounds() const { return passes_ == 0 && messages_.is_pass_over(); }
  // Returns the approximate work of a round other than the first.
  std::uint64_t work_of_round(int sweeps) const;

  double bound() const { return bound_; }
  // The prices that gave the bound, by time point.
  const std::vector<double>& prices() const { return bundle_.best_prices(); }
  // True after each `stretch` rounds that closed less than the fraction `progress` of the gap.
  bool stalled(int stretch, double progress) const;
  // A lower bound of choices in which the node takes the strategy, at the best prices.
  double bound_with(std::uint32_t node, std::uint32_t strategy) const {
    return best_previous_ + best_state_.slack[messages_.first_strategy(node) + strategy];
  }
  // The greedy choice from the messages of the last round. It may exceed limits and be forbidden.
  const std::vector<std::uint32_t>& choice() const { return choice_; }
  // The greedy choice of the round with the best bound. Other prices may spoil the messages.
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
  std::uint64_t entries_ = 0;       // total entries of all matrices
  int passes_ = 0;                  // number of passes in this round
  double at_prices_ = 0;            // the bound at the current prices
  double previous_ = 0;             // at_prices_ before the last backward pass
  double best_previous_ = -kForbidden;
  MessagePassing::State best_state_;
  double bound_ = 0;
  double target_ = 0;           // target of the last round
  std::vector<double> bounds_;  // the bound before the first round and after each
  std::vector<std::uint32_t> choice_;
  std::vector<std::uint32_t> best_choice_;
};

}  // namespace shardwright::operators
