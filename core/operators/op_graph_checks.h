// What each kind of operator demands of its operands.
#pragma once

#include <cstdint>
#include <span>

#include "core/operators/op_graph.h"

namespace shardwright::operators::internal {

// Checks operands and attributes of node `index`. Precondition: it and the nodes before it have
// well-formed shapes and inputs. Errors: as OpGraph::make.
Status check_operands(std::span<const OpNode> nodes, std::uint32_t index);

}  // namespace shardwright::operators::internal
