// Largest flow of integer amounts from demands to the ports that may serve them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"

namespace shardwright::redistribution {

// Each demand has a list of ports. Thread safety: a value.
struct BipartiteGraph {
  std::vector<std::int64_t> demands;
  std::vector<std::size_t> first_arc;   // by demand, and one more: the end of the last list
  std::vector<std::uint32_t> arc_port;  // by arc
  std::size_t num_ports = 0;
};

struct BipartiteFlow {
  std::vector<std::int64_t> amount;  // by arc
  // Demands and ports that a demand that is not met could still reach. Empty lists if all are met.
  // These demands have no other ports, and these ports are full.
  std::vector<bool> short_demand;
  std::vector<bool> short_port;
  bool met = true;
};

// Dinic's algorithm: augments along shortest paths only. `work` counts the arcs looked at.
// Source: Dinic, "Algorithm for solution of a problem of maximum flow in networks with power
// estimation", 1970.
BipartiteFlow largest_flow(const BipartiteGraph& graph, const std::vector<std::int64_t>& capacity,
                           std::uint64_t& work);

struct Balance {
  std::vector<std::int64_t> amount;  // by arc of the graph
  // The ports with the highest load, ascending. The demands that have no other ports need their
  // mean load per weight, `level`, so no assignment has a lower maximum. Empty without demands.
  std::vector<std::uint32_t> busiest_ports;
  double level = 0;
};

// Minimises the largest load per weight, then the second largest, and so on. Loads are whole bytes,
// so each is up to a byte larger than that. Returns nullopt if the budget was interrupted.
// First all ports get the mean level. If some demands cannot be met then, they and their ports have
// a higher level than the others; the two parts share nothing and are balanced separately.
// Preconditions: every demand with an amount has a port; weights are positive.
// Source: Fujishige, "Lexicographically optimal base of a polymatroid with respect to a weight
// vector", 1980, the decomposition algorithm. At most one flow per port.
std::optional<Balance> balance(const BipartiteGraph& graph, const std::vector<double>& weights,
                               const Budget& budget, std::uint64_t& work);

}  // namespace shardwright::redistribution
