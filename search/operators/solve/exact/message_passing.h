// Messages between the nodes of a cost instance, which divide it into chains that can be minimised.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/operators/instance/cost_instance.h"

namespace shardwright::operators {

// Messages move costs between nodes and edges so that the sum of the minima over chains of nodes
// grows (tree-reweighted message passing). Every node is in as many chains as it has neighbours on
// the side where it has more of them, earlier or later; each chain has an equal share of its costs.
// Bytes have prices, which are added to the costs.
// Memory: two messages per edge.
// Source: Kolmogorov, Convergent tree-reweighted message passing for energy minimization, 2006.
// Thread safety: one thread at a time; const members may be called from any thread meanwhile.
class MessagePassing {
 public:
  // A neighbour of a node.
  struct Link {
    std::uint32_t other;
    std::size_t to_own;    // where the message to this node begins
    std::size_t to_other;  // where the message to the other node begins
    const double* costs;
    std::size_t own_stride;
    std::size_t other_stride;
    std::size_t own_chain;  // the place of their common chain, as of first_chain()
    std::size_t other_chain;

    double cost(std::uint32_t own_strategy, std::uint32_t other_strategy) const {
      return costs[own_strategy * own_stride + other_strategy * other_stride];
    }
  };

  // Borrows the instance. `prices` by time point.
  MessagePassing(const CostInstance& instance, std::span<const double> prices);

  void set_prices(std::span<const double> prices);

  // Visits all nodes, each after its neighbours on one side, and sends messages to those on the
  // other. Returns, after a pass forward and one backward, a lower bound of every priced cost, less
  // what rounding can amount to.
  double pass(bool forward);
  // The same in parts: visit() goes on with the pass that has begun until it has read about so many
  // entries of matrices, and returns how many. pass_bound() is that of the pass that is over.
  void begin_pass(bool forward);
  std::uint64_t visit(std::uint64_t entries);
  bool is_pass_over() const { return visited_ == links_.size(); }
  double pass_bound() const;

  const CostInstance& instance() const { return *instance_; }
  // The neighbours of the node, earlier ones first.
  std::span<const Link> links(std::uint32_t node) const { return links_[node]; }
  std::size_t num_earlier(std::uint32_t node) const { return earlier_[node]; }
  // The strategies of a node have consecutive places.
  std::size_t first_strategy(std::uint32_t node) const { return first_cost_[node]; }
  std::size_t num_messages() const { return messages_.size(); }  // numbers, by strategy
  // The chains of a node have consecutive places.
  std::size_t first_chain(std::uint32_t node) const { return first_chain_[node]; }
  std::size_t num_chains(std::uint32_t node) const {
    return first_chain_[node + 1] - first_chain_[node];
  }
  // The priced cost of the strategy with all messages to it, less the least one of the node, as of
  // the last pass backward.
  double slack(std::uint32_t node, std::uint32_t strategy) const {
    return slack_[first_cost_[node] + strategy];
  }
  double message(std::size_t at) const { return messages_[at]; }
  // What every choice costs at least in the nodes alone, slack left out, and for the limits.
  double base() const { return base_; }
  // A choice that follows the messages node by node, from the first to the last.
  std::vector<std::uint32_t> decode() const;

  // What passes have found out.
  // Thread safety: a value.
  struct State {
    std::vector<double> messages;
    std::vector<double> slack;
    double base = 0;
  };
  void save(State& state) const;
  // Precondition: the state is of these messages, at the prices of now.
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
  // Of the pass.
  bool forward_ = true;
  std::size_t visited_ = 0;  // nodes; all if no pass is on its way
  double sum_ = 0;           // of what was subtracted from nodes and messages
  double magnitude_ = 0;
  std::vector<double> gathered_;
  std::vector<double> sent_;
};

// A strategy for every chain at every node that it passes, by the places of chains. The chains of a
// node may differ.
using ChainChoice = std::vector<std::uint32_t>;

// The cheapest choice of every chain. Precondition: the last pass went backward.
// Cost: the sum of strategies over all edges.
ChainChoice cheapest_chains(const MessagePassing& messages);

// The sum of what the chains cost with the messages and prices of now, less what the limits grant.
// The bound is the least over all choices. Precondition: the last pass went backward.
double chain_bound(const MessagePassing& messages, const ChainChoice& choice);

// By time point, the bytes that nodes hold beyond the limit; a node holds the mean of its chains.
std::vector<double> chain_excess(const MessagePassing& messages, const ChainChoice& choice);

}  // namespace shardwright::operators
