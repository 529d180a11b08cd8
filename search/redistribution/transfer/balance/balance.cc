#include "search/redistribution/transfer/balance/balance.h"

#include <cmath>
#include <numeric>
#include <utility>

namespace shardwright::redistribution {
namespace {

// Demands and ports that share nothing with the others.
struct Region {
  std::vector<std::uint32_t> demands;
  std::vector<std::uint32_t> ports;
};

// A region as a graph of its own.
struct Part {
  BipartiteGraph graph;
  std::vector<std::size_t> arcs;  // of the whole graph
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

  // Settles the region at one level, or adds its two parts to `open`.
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

  // The shares of `total`, rounded up to whole bytes.
  std::vector<std::int64_t> capacities(const Region& region, std::int64_t total,
                                       double weight) const {
    // Above the error of a product of two doubles, so that a whole share stays as it is.
    constexpr double kRounding = 1e-12;
    std::vector<std::int64_t> capacity;
    std::int64_t missing = total;
    for (const std::uint32_t port : region.ports) {
      const double share = static_cast<double>(total) / weight * weights_[port];
      capacity.push_back(static_cast<std::int64_t>(std::ceil(share - share * kRounding)));
      missing -= capacity.back();
    }
    // What was rounded away of large shares, so that all ports together can take all.
    for (std::size_t i = 0; missing > 0; i = (i + 1) % capacity.size()) {
      ++capacity[i];
      --missing;
    }
    return capacity;
  }

  void settle(const Region& region, const Part& part, const BipartiteFlow& flow, double level) {
    for (std::size_t i = 0; i < part.arcs.size(); ++i)
      result_.amount[part.arcs[i]] = flow.amount[i];
    // Parts above their mean come first, so the first one that is settled is the highest.
    if (!result_.busiest_ports.empty()) return;
    result_.level = level;
    result_.busiest_ports = region.ports;
  }

  const BipartiteGraph& graph_;
  const std::vector<double>& weights_;
  std::uint64_t& work_;
  std::vector<std::uint32_t> place_;  // by port: its place in the region
  Balance result_;
};

}  // namespace

std::optional<Balance> balance(const BipartiteGraph& graph, const std::vector<double>& weights,
                               const Budget& budget, std::uint64_t& work) {
  return Balancer(graph, weights, work).run(budget);
}

}  // namespace shardwright::redistribution
