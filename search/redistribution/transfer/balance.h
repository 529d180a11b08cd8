// Spreads demands over the ports that may serve them as evenly as possible, by maximum flows.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"

namespace shardwright::redistribution {

// Each demand (an amount of bytes) has a list of ports that may serve it. Thread safety: a value.
struct BipartiteGraph {
  std::vector<std::int64_t> demands;
  std::vector<std::size_t> first_arc;   // by demand; a last element ends the last list
  std::vector<std::uint32_t> arc_port;  // by arc
  std::size_t num_ports = 0;
};

struct BipartiteFlow {
  std::vector<std::int64_t> amount;  // by arc
  // The side of the minimum cut with the unmet demands: the demands and ports reachable from an
  // unmet demand in the residual graph. These demands have no other ports, and these ports are
  // full. Empty if all demands are met.
  std::vector<bool> short_demand;
  std::vector<bool> short_port;
  bool met = true;
};

// A maximum flow of integer amounts, by Dinic's algorithm. `work` counts the arcs looked at.
// Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
// estimation", 1970.
BipartiteFlow largest_flow(const BipartiteGraph& graph, const std::vector<std::int64_t>& capacity,
                           std::uint64_t& work);

struct Balance {
  std::vector<std::int64_t> amount;  // by arc of the graph
  // The ports with the highest load per weight, ascending, and their mean load per weight, `level`.
  // The demands that only these ports can serve make up their load, so no plan has a lower maximum.
  // Empty without demands.
  std::vector<std::uint32_t> busiest_ports;
  double level = 0;
};

// Minimises the largest load per weight, then the second largest, and so on. Loads are whole bytes,
// so each may be up to a byte above its optimum. Returns nullopt if the budget was interrupted.
// First all ports get the mean level as capacity. If some demands are then unmet, the minimum cut
// separates a part of higher level from the rest; no optimum sends bytes between them, so each is
// balanced separately. Preconditions: every demand with an amount has a port; weights are positive.
// Source: Fujishige, "Lexicographically optimal base of a polymatroid with respect to a weight
// vector", 1980, the decomposition algorithm. At most one flow per port.
std::optional<Balance> balance(const BipartiteGraph& graph, const std::vector<double>& weights,
                               const Budget& budget, std::uint64_t& work);

}  // namespace shardwright::redistribution
