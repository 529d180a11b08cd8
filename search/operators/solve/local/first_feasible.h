// Finds a choice within all limits, quickly and whatever it costs.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/operators/solve/local/choice_graph.h"
#include "search/operators/solve/parameters/solver_parameters.h"

namespace shardwright::operators {

// Assigns node after node the strategy that, with all that follows from it, holds the fewest
// weighted bytes, and removes what it forbids from all other nodes. If a limit is exceeded in the
// end, bytes there weigh more in the next round. An empty result proves nothing: a feasible choice
// may exist. Deterministic in `seed`, except for a deadline or a stop.
std::optional<std::vector<std::uint32_t>> first_feasible(const ChoiceGraph& graph, Budget& budget,
                                                         std::uint64_t seed,
                                                         const FeasibleParameters& parameters = {});

}  // namespace shardwright::operators
