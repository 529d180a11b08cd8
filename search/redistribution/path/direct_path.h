// A path that is found without a search: what must change is gathered and sliced again.
#pragma once

#include "search/redistribution/cost/step_costs.h"
#include "search/redistribution/path/path.h"
#include "search/redistribution/path/visit_moves.h"

namespace shardwright::redistribution {

// Reduces what is due and the target has not, gathers the axes of every dimension beyond those that
// the target shards in the same order, and then makes the target's shards and partial values. The
// path is found unless the model forbids one of these moves. O(axes + dimensions).
Path direct_path(const TensorOnMesh& tensor, const StepCosts& costs, const Placement& source,
                 const Placement& target);

}  // namespace shardwright::redistribution
