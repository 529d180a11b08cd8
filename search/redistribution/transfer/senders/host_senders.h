// Divides what hosts send to other hosts among their ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "search/redistribution/transfer/balance/balance.h"
#include "search/redistribution/transfer/demands/demands.h"
#include "search/redistribution/transfer/senders/sender_choice.h"

namespace shardwright::redistribution {

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
