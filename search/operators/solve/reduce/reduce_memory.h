// The reduction rules that read the memory limits.
#pragma once

#include "search/operators/solve/reduce/reduction_graph.h"

namespace shardwright::operators {

// Takes what all strategies of a node hold off the limits. Removes strategies for which there is no
// room, and time points whose limit cannot be exceeded or that a neighbouring one implies.
void reduce_memory(ReductionGraph& graph);

}  // namespace shardwright::operators
