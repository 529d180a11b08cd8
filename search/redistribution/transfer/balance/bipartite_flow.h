// Largest flow of integer amounts from demands to the ports that may serve them.
#pragma once

#include <cstdint>
#include <vector>

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

}  // namespace shardwright::redistribution
