// Chooses the ranks that send each need, and their shares.
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
  std::uint32_t from = 0;  // index into TransferProblem::ranks()
  std::int64_t bytes = 0;
};

struct SenderChoice {
  // By need: the bytes that holders send.
  std::vector<std::vector<SenderShare>> shares;
  // By Demands::shared: the part of a copy that each rank receives first and passes on to all other
  // receivers. Empty if no rank passes anything on. With the shares, every receiver gets its copy.
  std::vector<std::vector<SenderShare>> passed;
  std::vector<TransferBound> bounds;
};

// Without hosts: minimises the load of the busiest sender, then of the next busiest, and so on.
// With hosts: elements come from the receiver's host if a rank of the host holds them. If the
// senders within hosts would then be the busiest ports of all, other hosts take over bytes until
// the loads are even. Bytes from other hosts load the links of these hosts, and then their ranks,
// as evenly as possible. If it takes less time, ranks pass on elements that they want themselves
// and have received, within their host (without hosts, to any rank), so that a host receives every
// element once. Bounds also hold for plans in which ranks pass on. Returns nullopt if the budget
// was interrupted. `work` counts steps of flows.
std::optional<SenderChoice> choose_senders(const TransferProblem& problem, const Demands& demands,
                                           const Budget& budget, std::uint64_t& work);

// A graph of demands and ports. Port numbers index TransferProblem::ranks(), or hosts as in
// Demands.
struct ChoiceGraph {
  static constexpr std::size_t kFirst = ~std::size_t{0};

  BipartiteGraph graph;
  std::vector<std::size_t> needs;   // by demand of the graph
  std::vector<std::size_t> shared;  // by demand of the graph; kFirst: the first copies of a need
  std::vector<TransferPort> ports;
  std::vector<double> weights;  // by port: its bandwidth
};

// Whether other hosts may serve a need that ranks of its own host can serve.
enum class Within : std::uint8_t {
  kAll,   // other hosts may not
  kEven,  // other holders may; their bytes load the incoming link
};

// Whether ranks pass on, within their host, elements that they want themselves and have received.
// One copy of each piece then comes from a holder; the others may come from earlier receivers.
enum class Passing : std::uint8_t { kNo, kYes };

// kAll: demands are the needs that ranks of their own host can serve, with the ports kSend of these
// ranks. kEven: all needs are demands; a need that other hosts can serve also has the port kHostIn.
ChoiceGraph graph_within_hosts(const TransferProblem& problem, const Demands& demands, Within mode,
                               Passing passing);

// Demands are the bytes of each need from other hosts, with the ports kHostOut of these hosts.
ChoiceGraph graph_between_hosts(const TransferProblem& problem, const Demands& demands,
                                const std::vector<std::int64_t>& outside);

// The bound given by the demands that only these ports can serve.
TransferBound bound_of(const TransferProblem& problem, const Demands& demands,
                       const ChoiceGraph& choice, const std::vector<std::uint32_t>& ports);

// The bound of the rank that receives most. The bytes that ranks receive do not depend on the plan.
TransferBound busiest_receiver(const TransferProblem& problem, const Demands& demands);

// The host that receives most from other hosts; `outside`: by need, the bytes from other hosts. A
// bound only if these bytes cannot come from within the host. Has no ports without other hosts.
TransferBound busiest_host_in(const TransferProblem& problem, const Demands& demands,
                              const std::vector<std::int64_t>& outside);

// Calls function(demand, port, amount) for each amount above 0, by demand.
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

// Divides the bytes that a host sends among its ranks. The needs with the same holders that a host
// serves form one demand, which its ranks among the holders share. Each need then takes a stretch
// of these bytes, so that it has few senders.
// Thread safety: one thread at a time. Refers to the demands.
class HostSenders {
 public:
  // `between`: by need.
  HostSenders(const Demands& demands, const std::vector<std::vector<HostShare>>& between);

  // The demands and the ranks that may send; ports are indices into TransferProblem::ranks().
  const BipartiteGraph& graph() const { return graph_; }
  // Adds the shares of the ranks to those of each need.
  void assign(const Balance& balance, std::vector<std::vector<SenderShare>>& shares) const;

 private:
  // The bytes that a host sends to a need, among the needs with the same holders.
  struct Stretch {
    std::size_t need;
    std::int64_t bytes;
  };

  BipartiteGraph graph_;
  std::vector<std::vector<Stretch>> stretches_;  // by demand of the graph
};

}  // namespace shardwright::redistribution
