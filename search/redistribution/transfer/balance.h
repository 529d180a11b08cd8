// Spreads demands over the ports that may serve them as evenly as possible, by maximum flows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"

namespace shardwright::redistribution {

// Demands (amounts of bytes), each with a list of the ports that may serve it. A port is a rank or
// host as a sender or receiver. Thread safety: a value.
struct BipartiteGraph {
  std::vector<std::int64_t> demands;
  std::vector<std::size_t> first_arc;   // by demand; a last element ends the last list
  std::vector<std::uint32_t> arc_port;  // by arc
  std::size_t num_ports = 0;
};

struct BipartiteFlow {
  std::vector<std::int64_t> amount;  // by arc, in bytes
  // A minimum cut: the demands and ports reachable from an unmet demand in the residual graph.
  // These demands have no ports outside the cut, and these ports are full. Empty if all demands are
  // met.
  std::vector<bool> short_demand;
  std::vector<bool> short_port;
  bool met = true;
};

// Returns a maximum flow in whole bytes, by Dinic's algorithm. `capacity`: by port, in bytes. Adds
// the number of arcs looked at to `work`. Source: Dinic, "Algorithm for solution of a problem of
// maximum flow in networks with power estimation", 1970.
BipartiteFlow largest_flow(const BipartiteGraph& graph, const std::vector<std::int64_t>& capacity,
                           std::uint64_t& work);

struct Balance {
  std::vector<std::int64_t> amount;  // by arc of the graph, in bytes
  // The ports with the highest load per weight, ascending. `level` is their mean load per weight.
  // Their demands have no other ports, so no plan has a lower maximum. Empty without demands.
  std::vector<std::uint32_t> busiest_ports;
  double level = 0;
};

// Divides the demands among the ports: minimises the largest load per weight, then the second
// largest, and so on. Loads are whole bytes, so each may be up to a byte above its optimum. Returns
// nullopt if the budget was interrupted. All ports get the mean load per weight as capacity. If a
// maximum flow then leaves demands unmet, the minimum cut separates ports that need a higher level
// from the rest. No optimum sends bytes across the cut, so each side is balanced separately. At
// most one flow per port. Preconditions: every demand with an amount has a port; weights are
// positive. Source: Fujishige, "Lexicographically optimal base of a polymatroid with respect to a
// weight vector", 1980, the decomposition algorithm.
std::optional<Balance> balance(const BipartiteGraph& graph, const std::vector<double>& weights,
                               const Budget& budget, std::uint64_t& work);

}  // namespace shardwright::redistribution
