// Improves a choice node by node, within the limits: little, but at once.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/operators/solve/graph/choice_graph.h"

namespace shardwright::operators {

// Passes over the nodes, each of which takes the strategy that is cheapest next to its neighbours
// and for which there is room, until a pass gains little. Work is counted in strategies looked at.
// Precondition: `choice` is feasible.
void descend(const ChoiceGraph& graph, std::vector<std::uint32_t>& choice, Budget& budget);

}  // namespace shardwright::operators
