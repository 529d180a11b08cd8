// Needs, and the ports that can serve them, as graphs to be balanced.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/redistribution/transfer/transfer_plan.h"
#include "search/redistribution/transfer/balance/balance.h"
#include "search/redistribution/transfer/demands/demands.h"

namespace shardwright::redistribution {

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

}  // namespace shardwright::redistribution
