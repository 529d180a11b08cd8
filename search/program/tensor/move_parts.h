// Messages from ranks that hold a box of a tensor to ranks that want it.
#pragma once

#include <cstdint>
#include <stop_token>

#include "search/program/tensor/cost_model.h"

namespace shardwright::program {

// Returns true if every reduction that is due on the source is also due on the target, along an
// axis of the same size. The terms then move unchanged.
bool can_move(const DistAttr& source, const DistAttr& target);

// The boxes that the ranks of `target` take, from themselves or from others. O(axes of both * ranks
// per axis).
std::int64_t num_moves(const Shape& shape, const DistAttr& source, const DistAttr& target);

// Appends steps to `plan`. Returns false if a stop was requested; the steps are then incomplete.
// Every rank of `target` takes the boxes that it wants from its own tensor or else from an owner,
// the one that finishes first with all its messages so far and this one. If the target is a sum
// along an axis that the source does not have, the rank at coordinate 0 gets the values and the
// others get zeros. All ranks take part in messages in the same order, so that sends which wait for
// their receiver cannot block each other. Precondition: can_move(source, target). O(messages *
// owners).
bool append_moves(const Cluster& cluster, const Shape& shape, DataType type, const DistAttr& source,
                  const DistAttr& target, ReshardPlan& plan, const std::stop_token& stop = {});

}  // namespace shardwright::program
