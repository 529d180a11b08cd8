// A choice within all limits, cheap to find rather than cheap.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/operators/solve/graph/choice_graph.h"

namespace shardwright::operators {

// Assigns node after node the strategy whose consequences hold least, keeping all others consistent
// with what is forbidden; where a limit is exceeded, bytes there weigh more the next time. Nothing
// proves that there is no such choice where none is found. Deterministic in `seed` but for a
// deadline or a stop.
std::optional<std::vector<std::uint32_t>> first_feasible(const ChoiceGraph& graph, Budget& budget,
                                                         std::uint64_t seed);

}  // namespace shardwright::operators
