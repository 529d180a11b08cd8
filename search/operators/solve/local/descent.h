// Improves a choice node by node within the limits: a small gain for little work.
#pragma once

#include <cstdint>
#include <vector>

#include "search/budget.h"
#include "search/operators/solve/graph/choice_graph.h"
#include "search/operators/solve/parameters/start_parameters.h"

namespace shardwright::operators {

// Goes over all nodes until a pass gains little. Each node takes the strategy that is cheapest next
// to its neighbours and for which there is room. Work is counted in strategies evaluated.
// Precondition: `choice` is feasible.
void descend(const ChoiceGraph& graph, std::vector<std::uint32_t>& choice, Budget& budget,
             const DescentParameters& parameters = {});

}  // namespace shardwright::operators
