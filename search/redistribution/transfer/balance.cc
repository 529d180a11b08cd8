#include "search/redistribution/transfer/balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace shardwright::redistribution {
namespace {

constexpr std::uint32_t kUnreached = ~std::uint32_t{0};

// One run of Dinic's algorithm. Nodes are demands and ports. An arc's residual capacity is
// unlimited from the demand to the port, and the arc's amount in the other direction.
class Dinic {
 public:
  Dinic(const BipartiteGraph& graph, const std::vector<std::int64_t>& capacity, std::uint64_t& work)
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
  // Breadth-first search from all unmet demands. Returns true if a port with room is reached.
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

  void reach_demands(std::uint32_t port, std::uint32_t level, std::vector<std::uint32_t>& reached) {
    for (const std::size_t arc : arcs_of_port_[port]) {
      ++work_;
      if (amount_[arc] == 0 || demand_level_[arc_demand_[arc]] != kUnreached) continue;
      demand_level_[arc_demand_[arc]] = level;
      reached.push_back(arc_demand_[arc]);
    }
  }

  // Sends at most `most` bytes of a demand along shortest paths. Returns the bytes sent.
  std::int64_t push_demand(std::size_t d, std::int64_t most) {
    std::int64_t sent = 0;
    for (std::size_t& arc = next_arc_[d]; arc < graph_.first_arc[d + 1]; ++arc) {
      const std::uint32_t port = graph_.arc_port[arc];
      ++work_;
      if (port_level_[port] != demand_level_[d] + 1) continue;
      const std::int64_t pushed = push_port(port, most - sent);
      amount_[arc] += pushed;
      sent += pushed;
      if (sent == most) break;  // do not skip the arc: it may carry more
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
  // Levels of the breadth-first search: 0 for unmet demands. A port reached from a demand of level
  // i has level i + 1, and so do the demands that could take bytes back from this port.
  std::vector<std::uint32_t> demand_level_;
  std::vector<std::uint32_t> port_level_;
  std::vector<std::size_t> next_arc_;   // by demand: the first arc that may still be useful
  std::vector<std::size_t> next_back_;  // by port: the same, as an index into arcs_of_port_
};

}  // namespace

BipartiteFlow largest_flow(const BipartiteGraph& graph, const std::vector<std::int64_t>& capacity,
                           std::uint64_t& work) {
  return Dinic(graph, capacity, work).run();
}

namespace {

// Demands and ports that are balanced apart from all others.
struct Region {
  std::vector<std::uint32_t> demands;
  std::vector<std::uint32_t> ports;
};

// The graph of one region.
struct Part {
  BipartiteGraph graph;
  std::vector<std::size_t> arcs;  // by arc of `graph`: its index in the whole graph
};

class Balancer {
 public:
  Balancer(const BipartiteGraph& graph, const std::vector<double>& weights, std::uint64_t& work)
      : graph_(graph), weights_(weights), work_(work), place_(graph.num_ports, kOutside) {
    result_.amount.assign(graph.arc_port.size(), 0);
  }

  std::optional<Balance> run(const Budget& budget) {
    std::vector<Region> open{everything()};
    while (!open.empty()) {
      if (budget.interrupted()) return std::nullopt;
      const Region region = std::move(open.back());
      open.pop_back();
      if (region.demands.empty()) continue;
      divide(region, open);
    }
    return std::move(result_);
  }

 private:
  static constexpr std::uint32_t kOutside = ~std::uint32_t{0};

  Region everything() const {
    Region all;
    for (std::uint32_t d = 0; d < graph_.demands.size(); ++d) {
      if (graph_.demands[d] > 0) all.demands.push_back(d);
    }
    std::vector<bool> used(graph_.num_ports, false);
    for (const std::uint32_t port : graph_.arc_port)
      used[port] = true;
    for (std::uint32_t port = 0; port < used.size(); ++port) {
      if (used[port]) all.ports.push_back(port);
    }
    return all;
  }

  // Settles the region if its ports can have equal loads per weight; otherwise cuts it in two and
  // adds both parts to `open`.
  void divide(const Region& region, std::vector<Region>& open) {
    const Part part = part_of(region);
    const auto& demands = part.graph.demands;
    const std::int64_t total = std::accumulate(demands.begin(), demands.end(), std::int64_t{0});
    double weight = 0;
    for (const std::uint32_t port : region.ports)
      weight += weights_[port];
    const BipartiteFlow flow = largest_flow(part.graph, capacities(region, total, weight), work_);
    if (flow.met) return settle(region, part, flow, static_cast<double>(total) / weight);
    Region above;
    Region below;
    for (std::size_t d = 0; d < region.demands.size(); ++d)
      (flow.short_demand[d] ? above : below).demands.push_back(region.demands[d]);
    for (std::size_t p = 0; p < region.ports.size(); ++p)
      (flow.short_port[p] ? above : below).ports.push_back(region.ports[p]);
    open.push_back(std::move(below));
    open.push_back(std::move(above));
  }

  Part part_of(const Region& region) {
    Part part;
    for (std::uint32_t i = 0; i < region.ports.size(); ++i)
      place_[region.ports[i]] = i;
    part.graph.num_ports = region.ports.size();
    part.graph.first_arc.push_back(0);
    for (const std::uint32_t d : region.demands) {
      part.graph.demands.push_back(graph_.demands[d]);
      for (std::size_t arc = graph_.first_arc[d]; arc < graph_.first_arc[d + 1]; ++arc) {
        const std::uint32_t place = place_[graph_.arc_port[arc]];
        if (place == kOutside) continue;
        part.graph.arc_port.push_back(place);
        part.arcs.push_back(arc);
      }
      part.graph.first_arc.push_back(part.arcs.size());
    }
    for (const std::uint32_t port : region.ports)
      place_[port] = kOutside;
    return part;
  }

  // Returns the share of each port in `total`, by weight, rounded up to whole bytes.
  std::vector<std::int64_t> capacities(const Region& region, std::int64_t total,
                                       double weight) const {
    // Exceeds the rounding error of `share`, so that a share of whole bytes is not rounded up.
    constexpr double kRounding = 1e-12;
    std::vector<std::int64_t> capacity;
    std::int64_t missing = total;
    for (const std::uint32_t port : region.ports) {
      const double share = static_cast<double>(total) / weight * weights_[port];
      capacity.push_back(static_cast<std::int64_t>(std::ceil(share - share * kRounding)));
      missing -= capacity.back();
    }
    // Rounding errors of large shares may leave the sum below `total`. Adds the missing bytes.
    for (std::size_t i = 0; missing > 0; i = (i + 1) % capacity.size()) {
      ++capacity[i];
      --missing;
    }
    return capacity;
  }

  void settle(const Region& region, const Part& part, const BipartiteFlow& flow, double level) {
    for (std::size_t i = 0; i < part.arcs.size(); ++i)
      result_.amount[part.arcs[i]] = flow.amount[i];
    // Parts of higher level are divided first, so the part settled first has the highest level.
    if (!result_.busiest_ports.empty()) return;
    result_.level = level;
    result_.busiest_ports = region.ports;
  }

  const BipartiteGraph& graph_;
  const std::vector<double>& weights_;
  std::uint64_t& work_;
  std::vector<std::uint32_t> place_;  // by port: its index in the region, or kOutside
  Balance result_;
};

}  // namespace

std::optional<Balance> balance(const BipartiteGraph& graph, const std::vector<double>& weights,
                               const Budget& budget, std::uint64_t& work) {
  return Balancer(graph, weights, work).run(budget);
}

}  // namespace shardwright::redistribution
