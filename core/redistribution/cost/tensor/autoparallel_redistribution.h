// What AutoParallel takes a redistribution to cost.
#pragma once

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/tensor/redistribution.h"

namespace shardwright::redistribution {

// The time in microseconds: the collective of each axis whose placement changes, and the copies
// that reorder the elements. Infinite if AutoParallel forbids it.
//
// Axes are visited from the first to the last, except that a sum over both of two axes goes to
// shards from the last to the first. Bytes are what a device holds at that point, rounded down.
//
//   S(d) -> R     all-gather; a copy if d != 0
//   S(d) -> S(e)  all-to-all; a copy for each of d, e that is not 0
//   P -> R        all-reduce
//   P -> S(e)     reduce-scatter; a copy if e != 0
//   R -> S        nothing, and later axes count the bytes as before
//   P -> P        nothing, if the reductions differ
//   S -> P, R -> P  infinite
//
// The first axis that changes copies once more if the source is not contiguous. A source that is
// replicated everywhere costs nothing, or is infinite if the target has partial values.
// Precondition: costs.mesh() == redistribution.mesh().
// Source: AutoParallel (meta-pytorch/autoparallel, a54c2529),
// autoparallel/cost_models/collective_runtime_estimation.py, estimate_strategy_comms_cost.
double autoparallel_redistribution_us(const Redistribution& redistribution,
                                      const CollectiveCosts& costs, double memory_bytes_per_second);

}  // namespace shardwright::redistribution
