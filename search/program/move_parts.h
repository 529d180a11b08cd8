// Boxes from the ranks that hold them to the ranks that want them, one message each.
#pragma once

#include "search/program/cost_model.h"

namespace shardwright::program {

// Every rank of `target` that must hold values gets them from itself or else from an owner: one on
// its machine, the one that has sent least so far. Ranks where the target is a sum and another
// holds the values get zeros. All ranks take part in messages in one common order, so that sends
// which wait for their receiver cannot block each other.
// Precondition: nothing is due on `source`. Appends to `plan`. O(messages * owners).
void append_moves(const Cluster& cluster, const Shape& shape, const DistAttr& source,
                  const DistAttr& target, ReshardPlan& plan);

}  // namespace shardwright::program
