// Checks the description of a graph of PyTorch's operators.
#pragma once

#include <vector>

#include "core/operators/aten/graph/aten_graph.h"
#include "core/status.h"

namespace shardwright::operators {

// Nodes, their tensors and rules. Errors: as AtenGraph::make.
Status check_aten_nodes(const AtenGraphSpec& spec);

// Checks what leaves the graph, and pairs gradients with parameters and tangents with outputs.
// Precondition: check_aten_nodes(). Errors: as AtenGraph::make.
Result<std::vector<AtenPair>> pair_aten_outputs(const AtenGraphSpec& spec);

}  // namespace shardwright::operators
