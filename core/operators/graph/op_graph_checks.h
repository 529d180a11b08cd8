// Checks what each kind of operator requires of its inputs, parameters and output.
#pragma once

#include <cstdint>
#include <span>

#include "core/operators/graph/op_graph.h"

namespace shardwright::operators::internal {

// Checks the node `index`. Precondition: it and the nodes before it have well-formed shapes and
// inputs. Errors: as OpGraph::make.
Status check_operands(std::span<const OpNode> nodes, std::uint32_t index);

}  // namespace shardwright::operators::internal
