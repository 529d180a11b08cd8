// Which ranks send how much of every need.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "search/budget.h"
#include "search/redistribution/transfer/balance.h"
#include "search/redistribution/transfer/demands.h"

namespace shardwright::redistribution {

struct SenderShare {
  std::uint32_t from = 0;  // place in TransferProblem::ranks()
  std::int64_t bytes = 0;
};

struct SenderChoice {
  // By need: what holders send of it.
  std::vector<std::vector<SenderShare>> shares;
  // By Demands::shared: how much of one copy each rank receives first and passes on to all others.
  // Empty if no rank passes anything on. With the shares, every receiver gets its copy.
  std::vector<std::vector<SenderShare>> passed;
  std::vector<TransferBound> bounds;
};

// Without hosts: the busiest sender carries as little as possible, the next one too, and so on.
// With hosts: elements come from the receiver's host where a rank of it holds them, unless its
// senders would be the busiest ports of all; then as much comes from other hosts as evens that out.
// What comes from other hosts loads their links, and then their ranks, as evenly as possible.
// Where that takes less time, ranks pass on within their host (without hosts to any rank) what they
// want and have received, so that a host receives every element once. Bounds hold for plans that do
// so, too.
// Returns nullopt if the budget was interrupted. `work` counts steps of flows.
std::optional<SenderChoice> choose_senders(const TransferProblem& problem, const Demands& demands,
                                           const Budget& budget, std::uint64_t& work);

// Numbers of ports are places in TransferProblem::ranks(), and hosts as Demands numbers them.
struct ChoiceGraph {
  static constexpr std::size_t kFirst = ~std::size_t{0};

  BipartiteGraph graph;
  std::vector<std::size_t> needs;   // by demand of the graph
  std::vector<std::size_t> shared;  // by demand of the graph; kFirst is the first copies of a need
  std::vector<TransferPort> ports;
  std::vector<double> weights;  // by port: its bandwidth
};

// Whether a need that ranks of its host can serve may come from other hosts.
enum class Within : std::uint8_t {
  kAll,   // it may not
  kEven,  // it may, if other hosts have it, at the cost of its host's incoming link
};

// Whether ranks pass on, within their host, what they want and have received. A copy of each piece
// then comes from a holder; the others may come from ranks that got it before.
enum class Passing : std::uint8_t { kNo, kYes };

// kAll: what ranks of the same host can serve, with the ports kSend of these ranks.
// kEven: everything; if ranks of other hosts can serve a need, it also has the port kHostIn.
ChoiceGraph graph_within_hosts(const TransferProblem& problem, const Demands& demands, Within mode,
                               Passing passing);

// The bytes of each need that come from other hosts, with the ports kHostOut of these hosts.
ChoiceGraph graph_between_hosts(const TransferProblem& problem, const Demands& demands,
                                const std::vector<std::int64_t>& outside);

// What no other ports than these can serve.
TransferBound bound_of(const TransferProblem& problem, const Demands& demands,
                       const ChoiceGraph& choice, const std::vector<std::uint32_t>& ports);

// The rank that receives most. What it receives is given.
TransferBound busiest_receiver(const TransferProblem& problem, const Demands& demands);

// The host that receives most from other hosts, of which each need takes `outside` bytes. A bound
// if nothing else could come from within. Without ports if there are no other hosts.
TransferBound busiest_host_in(const TransferProblem& problem, const Demands& demands,
                              const std::vector<std::int64_t>& outside);

// Calls `function` with each demand, port and amount above 0, by demand.
template <class Function>
void for_each_amount(const ChoiceGraph& choice, const Balance& balance, const Function& function) {
  for (std::size_t d = 0; d < choice.needs.size(); ++d) {
    for (std::size_t arc = choice.graph.first_arc[d]; arc < choice.graph.first_arc[d + 1]; ++arc) {
      if (balance.amount[arc] > 0)
        function(d, choice.ports[choice.graph.arc_port[arc]], balance.amount[arc]);
    }
  }
}

// The bytes of a need that a host sends.
struct HostShare {
  std::uint32_t host = 0;  // as Demands numbers them
  std::int64_t bytes = 0;
};

// The needs with the same holders that a host serves are one demand, which its ranks among the
// holders share. A need then takes a stretch of their bytes, so that it has few senders.
// Thread safety: one thread at a time. Refers to the demands.
class HostSenders {
 public:
  // `between`: by need.
  HostSenders(const Demands& demands, const std::vector<std::vector<HostShare>>& between);

  // The demands and the ranks that may send; ports are places in TransferProblem::ranks().
  const BipartiteGraph& graph() const { return graph_; }
  // Adds the shares of the ranks to those of each need.
  void assign(const Balance& balance, std::vector<std::vector<SenderShare>>& shares) const;

 private:
  // What one host sends to the needs that have the same holders.
  struct Stretch {
    std::size_t need;
    std::int64_t bytes;
  };

  BipartiteGraph graph_;
  std::vector<std::vector<Stretch>> stretches_;  // by demand of the graph
};

}  // namespace shardwright::redistribution
