// Spreads demands over ports so that the loads are as even as they can be.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/redistribution/transfer/balance/bipartite_flow.h"

namespace shardwright::redistribution {

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
