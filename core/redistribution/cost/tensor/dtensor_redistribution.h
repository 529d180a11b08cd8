// What PyTorch's DTensor takes a redistribution to cost.
#pragma once

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/cost/tensor/redistribution.h"

namespace shardwright::redistribution {

// The price of changing the placement on one axis, and what a device holds for the next change.
struct DTensorStep {
  double microseconds;  // infinite if DTensor forbids it
  double bytes;
};

// `bytes`: what a device holds before the change. Also the price of a step in DTensor's search for
// a cheapest plan, where `bytes` is bytes_per_device() of the state that the step starts from.
//
//   S -> R  all-gather, of `bytes` times the devices
//   S -> S  all-to-all
//   P -> R  all-reduce
//   P -> S  reduce-scatter; divides the bytes
//   R -> S  nothing; divides the bytes
//   R -> P  nothing
//   S -> P, and P -> P where the reductions differ: infinite
//
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py,
// _compute_placement_transition_cost and one_step_redistribute_cost.
DTensorStep dtensor_step(const CollectiveCosts& costs, std::size_t axis,
                         const AxisPlacement& source, const AxisPlacement& target, double bytes);

// The time in microseconds of the steps that DTensor takes. A source that is replicated everywhere
// costs nothing. Otherwise, if the source is sharded, a first pass from the last axis to the first
// changes each axis to its target; but to a replica where the target is a shard of a dimension that
// earlier axes do not shard as the target wants it. A second pass from the first axis to the last
// makes the rest of the changes.
// Precondition: costs.mesh() == redistribution.mesh(). DTensorCosts make it DTensor's own number.
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py, redistribute_cost, and
// _redistribute.py, generate_greedy_transform_infos.
double dtensor_redistribution_us(const Redistribution& redistribution,
                                 const CollectiveCosts& costs);

}  // namespace shardwright::redistribution
