// Whether the shapes of an auto-sharding graph follow from each other.
#pragma once

#include "core/operators/autoshard/autoshard_graph.h"
#include "core/status.h"

namespace shardwright::operators::autoshard {

// Costs count elements and need no more, so a Graph may have any shapes; those of a model follow
// from what its ops read. Errors: kInvalidInput with `where` = the JSON pointer of a shape below
// `/graph`. O(ops + args + extents).
Status check_shapes(const Graph& graph);

}  // namespace shardwright::operators::autoshard
