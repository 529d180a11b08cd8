#include "search/redistribution/transfer/balance/bipartite_flow.h"

#include <algorithm>

namespace shardwright::redistribution {
namespace {

constexpr std::uint32_t kUnreached = ~std::uint32_t{0};

// One computation. Nodes are demands and ports; an arc may carry any amount forward, and backward
// what it carries.
class Dinic {
 public:
  Dinic(const BipartiteGraph& graph, const std::vector<std::int64_t>& capacity,
        std::uint64_t& work)
      : graph_(graph),
        work_(work),
        amount_(graph.arc_port.size(), 0),
        unmet_(graph.demands),
        room_(capacity),
        arcs_of_port_(graph.num_ports) {
    arc_demand_.resize(graph.arc_port.size());
    for (std::size_t d = 0; d < graph.demands.size(); ++d) {
      for (std::size_t arc = graph.first_arc[d]; arc < graph.first_arc[d + 1]; ++arc) {
        arc_demand_[arc] = static_cast<std::uint32_t>(d);
        arcs_of_port_[graph.arc_port[arc]].push_back(arc);
      }
    }
  }

  BipartiteFlow run() {
    while (find_levels()) {
      next_arc_.assign(graph_.first_arc.begin(), graph_.first_arc.end());
      next_back_.assign(graph_.num_ports, 0);
      for (std::size_t d = 0; d < unmet_.size(); ++d) {
        if (unmet_[d] > 0) unmet_[d] -= push_demand(d, unmet_[d]);
      }
    }
    return result();
  }

 private:
  // Breadth first from all demands that are not met. Returns true if a port with room is reached.
  bool find_levels() {
    demand_level_.assign(graph_.demands.size(), kUnreached);
    port_level_.assign(graph_.num_ports, kUnreached);
    std::vector<std::uint32_t> front;
    for (std::size_t d = 0; d < unmet_.size(); ++d) {
      if (unmet_[d] == 0) continue;
      demand_level_[d] = 0;
      front.push_back(static_cast<std::uint32_t>(d));
    }
    bool found = false;
    for (std::uint32_t level = 1; !front.empty() && !found; ++level) {
      std::vector<std::uint32_t> ports;
      for (const std::uint32_t d : front)
        found = reach_ports(d, level, ports) || found;
      front.clear();
      for (const std::uint32_t port : ports)
        reach_demands(port, level, front);
    }
    return found;
  }

  bool reach_ports(std::uint32_t d, std::uint32_t level, std::vector<std::uint32_t>& reached) {
    bool found = false;
    for (std::size_t arc = graph_.first_arc[d]; arc < graph_.first_arc[d + 1]; ++arc) {
      const std::uint32_t port = graph_.arc_port[arc];
      ++work_;
      if (port_level_[port] != kUnreached) continue;
      port_level_[port] = level;
      reached.push_back(port);
      found = found || room_[port] > 0;
    }
    return found;
  }

  void reach_demands(std::uint32_t port, std::uint32_t level,
                     std::vector<std::uint32_t>& reached) {
    for (const std::size_t arc : arcs_of_port_[port]) {
      ++work_;
      if (amount_[arc] == 0 || demand_level_[arc_demand_[arc]] != kUnreached) continue;
      demand_level_[arc_demand_[arc]] = level;
      reached.push_back(arc_demand_[arc]);
    }
  }

  // Sends at most `most` from a demand along shortest paths. Returns what it sent.
  std::int64_t push_demand(std::size_t d, std::int64_t most) {
    std::int64_t sent = 0;
    for (std::size_t& arc = next_arc_[d]; arc < graph_.first_arc[d + 1]; ++arc) {
      const std::uint32_t port = graph_.arc_port[arc];
      ++work_;
      if (port_level_[port] != demand_level_[d] + 1) continue;
      const std::int64_t pushed = push_port(port, most - sent);
      amount_[arc] += pushed;
      sent += pushed;
      if (sent == most) break;  // the arc may carry more
    }
    return sent;
  }

  std::int64_t push_port(std::uint32_t port, std::int64_t most) {
    std::int64_t sent = std::min(most, room_[port]);
    room_[port] -= sent;
    const std::vector<std::size_t>& arcs = arcs_of_port_[port];
    for (std::size_t& i = next_back_[port]; sent < most && i < arcs.size(); ++i) {
      const std::size_t arc = arcs[i];
      const std::uint32_t d = arc_demand_[arc];
      ++work_;
      if (amount_[arc] == 0 || demand_level_[d] != port_level_[port]) continue;
      const std::int64_t moved = push_demand(d, std::min(most - sent, amount_[arc]));
      amount_[arc] -= moved;
      sent += moved;
      if (sent == most) break;
    }
    return sent;
  }

  BipartiteFlow result() {
    BipartiteFlow flow;
    flow.met =
        std::all_of(unmet_.begin(), unmet_.end(), [](std::int64_t left) { return left == 0; });
    flow.amount = std::move(amount_);
    if (flow.met) return flow;
    for (const std::uint32_t level : demand_level_)
      flow.short_demand.push_back(level != kUnreached);
    for (const std::uint32_t level : port_level_)
      flow.short_port.push_back(level != kUnreached);
    return flow;
  }

  const BipartiteGraph& graph_;
  std::uint64_t& work_;
  std::vector<std::int64_t> amount_;
  std::vector<std::int64_t> unmet_;  // by demand
  std::vector<std::int64_t> room_;   // by port
  std::vector<std::vector<std::size_t>> arcs_of_port_;
  std::vector<std::uint32_t> arc_demand_;
  // Steps from a demand that is not met: demands 0, 1, ..., the ports after demand i have i + 1,
  // and so have demands that these ports could give back to.
  std::vector<std::uint32_t> demand_level_;
  std::vector<std::uint32_t> port_level_;
  std::vector<std::size_t> next_arc_;   // by demand; those before lead nowhere
  std::vector<std::size_t> next_back_;  // by port
};

}  // namespace

BipartiteFlow largest_flow(const BipartiteGraph& graph, const std::vector<std::int64_t>& capacity,
                           std::uint64_t& work) {
  return Dinic(graph, capacity, work).run();
}

}  // namespace shardwright::redistribution
