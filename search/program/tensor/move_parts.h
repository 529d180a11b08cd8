// Boxes from the ranks that hold them to the ranks that want them, one message each.
#pragma once

#include "search/program/tensor/cost_model.h"

namespace shardwright::program {

// Whether every reduction that is due on the source is due alike, along an axis of the same extent,
// on the target: then the terms move as they are.
bool can_move(const DistAttr& source, const DistAttr& target);

// Every rank of `target` that must hold values gets them from itself or else from an owner: the one
// that is done soonest with what it has and this. Ranks where the target is a sum and another holds
// the values get zeros. All ranks take part in messages in one common order, so that sends which
// wait for their receiver cannot block each other. Precondition: can_move(source, target). Appends
// to `plan`. O(messages * owners).
void append_moves(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
                  const DistAttr& target, ReshardPlan& plan);

}  // namespace shardwright::program
