// The reduction rules for memory limits.
#pragma once

#include "search/operators/solve/reduce/reduction_graph.h"

namespace shardwright::operators {

// Subtracts what all strategies of a node hold from the limits. Removes strategies for which there
// is no room, time points whose limit cannot be exceeded, and those that a neighbour implies.
void reduce_memory(ReductionGraph& graph);

}  // namespace shardwright::operators
