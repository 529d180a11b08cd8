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
  // By need: the bytes that each holder sends.
  std::vector<std::vector<SenderShare>> shares;
  // By Demands::shared: the bytes of a copy that each receiver gets first and then passes on to all
  // other receivers. Empty if no rank passes anything on. With `shares`, all get a copy.
  std::vector<std::vector<SenderShare>> passed;
  std::vector<TransferBound> bounds;
};

// Chooses the bytes that each holder sends of each need. Without hosts, minimises the load of the
// busiest sender, then of the next busiest, and so on. With hosts, elements come from the
// receiver's host if a rank of this host holds them. If the senders within hosts would then be the
// busiest ports of all, other hosts take over bytes until the loads are even. Bytes from other
// hosts load the links of the sending hosts, and then their ranks, as evenly as possible. Ranks may
// also pass on elements that they want themselves and have received: within their host, or to any
// rank if there are no hosts. This happens if it takes less time, and then a host receives every
// element once. Bounds also hold for plans in which ranks pass on. Returns nullopt if the budget
// was interrupted. Adds the steps of flows to `work`.
std::optional<SenderChoice> choose_senders(const TransferProblem& problem, const Demands& demands,
                                           const Budget& budget, std::uint64_t& work);

// The demands and ports of one balancing problem. Port numbers are indices into
// TransferProblem::ranks(), or host numbers as in Demands::host_of.
struct SenderGraph {
  static constexpr std::size_t kFirst = ~std::size_t{0};

  BipartiteGraph graph;
  std::vector<std::size_t> needs;   // by demand of the graph
  std::vector<std::size_t> shared;  // by demand of the graph; kFirst: the first copy of each piece
  std::vector<TransferPort> ports;
  std::vector<double> weights;  // by port: its bandwidth
};

// Whether other hosts may serve a need that ranks of the receivers' host can serve.
enum class Within : std::uint8_t {
  kAll,   // other hosts may not
  kEven,  // other hosts may; their bytes load the host's incoming link
};

// Whether ranks pass on, within their host, elements that they want themselves and have received.
// If they do, only one copy of each piece must come from a holder.
enum class Passing : std::uint8_t { kNo, kYes };

// Builds the graph of senders within hosts. kAll: demands are the needs that ranks of their own
// host can serve, with the ports kSend of these ranks. kEven: all needs are demands; a need that
// other hosts can serve also has the port kHostIn.
SenderGraph graph_within_hosts(const TransferProblem& problem, const Demands& demands, Within mode,
                               Passing passing);

// Builds the graph of senders between hosts. Demands are the bytes of each need from other hosts
// (`outside`, by need), with the ports kHostOut of these hosts.
SenderGraph graph_between_hosts(const TransferProblem& problem, const Demands& demands,
                                const std::vector<std::int64_t>& outside);

// Returns the bound that follows from the demands that only these ports can serve.
TransferBound bound_of(const TransferProblem& problem, const Demands& demands,
                       const SenderGraph& choice, const std::vector<std::uint32_t>& ports);

// Returns the bound of the rank that receives most. All plans send a rank the same bytes.
TransferBound busiest_receiver(const TransferProblem& problem, const Demands& demands);

// Returns the bound of the host that receives most from other hosts. `outside`: by need, the bytes
// from other hosts. It is a bound only if these bytes cannot come from within the host. Has no
// ports if no bytes come from other hosts.
TransferBound busiest_host_in(const TransferProblem& problem, const Demands& demands,
                              const std::vector<std::int64_t>& outside);

// Calls function(demand, port, amount) for each amount above 0, by demand.
template <class Function>
void for_each_amount(const SenderGraph& choice, const Balance& balance, const Function& function) {
  for (std::size_t d = 0; d < choice.needs.size(); ++d) {
    for (std::size_t arc = choice.graph.first_arc[d]; arc < choice.graph.first_arc[d + 1]; ++arc) {
      if (balance.amount[arc] > 0)
        function(d, choice.ports[choice.graph.arc_port[arc]], balance.amount[arc]);
    }
  }
}

// The bytes of a need that a host sends.
struct HostShare {
  std::uint32_t host = 0;  // number as in Demands::host_of
  std::int64_t bytes = 0;
};

// Divides the bytes that each host sends to other hosts among its ranks. Needs with the same
// holders form one demand, which the holders on the sending host share. Each need then takes a
// stretch of these bytes, so that it has few senders.
// Thread safety: one thread at a time. Refers to the demands.
class HostSenders {
 public:
  // `between`: by need, the bytes that each sending host sends.
  HostSenders(const Demands& demands, const std::vector<std::vector<HostShare>>& between);

  // The demands and the ranks that may send; ports are indices into TransferProblem::ranks().
  const BipartiteGraph& graph() const { return graph_; }
  // Adds each rank's bytes to `shares`, by need.
  void assign(const Balance& balance, std::vector<std::vector<SenderShare>>& shares) const;

 private:
  // The bytes of one need that a host sends.
  struct Stretch {
    std::size_t need;
    std::int64_t bytes;
  };

  BipartiteGraph graph_;
  std::vector<std::vector<Stretch>> stretches_;  // by demand of the graph
};

}  // namespace shardwright::redistribution
