// The cost of redistributing one tensor on a mesh, by the rules of AutoParallel and of DTensor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/redistribution/cost/collective_costs.h"
#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::redistribution {

// Returns the memory bandwidth, in bytes per second, of a device such as "NVIDIA H100 80GB HBM3",
// or nullopt if AutoParallel does not know the name.
// Source: DEVICE_LIMITS in AutoParallel's (meta-pytorch/autoparallel, a54c2529)
// autoparallel/cost_models/compute_estimation.py, from the vendors' data sheets, with a TB of 2^40
// bytes and a GB of 2^30.
std::optional<double> memory_bytes_per_second(std::string_view device_name);

// Returns the time in microseconds of a kernel that reads and writes `bytes` in total, at 70 % of
// the bandwidth and at least 7. Source: compute_read_write_time in the file named above.
double read_write_us(double bytes, double bytes_per_second);

// If several axes shard one dimension, the first axis cuts the dimension, later axes its parts.
struct RedistributionSpec {
  MeshShape mesh;
  std::vector<std::int64_t> shape;    // of the whole tensor
  std::vector<std::int64_t> strides;  // of the whole tensor, in elements; contiguous if empty
  std::int64_t itemsize = 0;          // bytes per element
  std::vector<AxisPlacement> source;  // by mesh axis
  std::vector<AxisPlacement> target;
};

// A checked specification.
// Thread safety: const members may be called from any thread.
class Redistribution {
 public:
  // Errors (kInvalidInput, with the place below the specification): those of check_mesh, lists of
  // the wrong length, sizes below 0, an itemsize below 1, 2^62 bytes or more, a shard of a
  // dimension that the tensor does not have.
  static Result<Redistribution> make(RedistributionSpec spec);

  const MeshShape& mesh() const { return spec_.mesh; }
  const std::vector<AxisPlacement>& source() const { return spec_.source; }
  const std::vector<AxisPlacement>& target() const { return spec_.target; }
  // Returns true if the elements lie in row-major order without gaps. Dimensions of one element do
  // not count. Source: torch._prims_common.check_contiguous_sizes_strides.
  bool is_contiguous() const { return is_contiguous_; }
  // Returns the bytes of the tensor divided by the number of parts in the source placement, as if
  // all parts were of equal size.
  double source_bytes_per_device() const { return source_bytes_per_device_; }
  bool source_is_replicated() const;

 private:
  explicit Redistribution(RedistributionSpec spec);

  RedistributionSpec spec_;
  bool is_contiguous_;
  double source_bytes_per_device_;
};

// Returns `bytes` divided by the number of parts into which `placements` shard a tensor. Rounds
// once, like Python's int / int. Preconditions: bytes < 2^62, a checked mesh, a placement per axis.
double bytes_per_device(std::int64_t bytes, const MeshShape& mesh,
                        const std::vector<AxisPlacement>& placements);

// Returns the time in microseconds of a redistribution: the collectives of all axes whose placement
// changes, and the copies that reorder elements. Infinite if AutoParallel forbids a change.
//
// Axes change from the first to the last. Exception: on a mesh of two axes, if both change from
// partial sums to shards, the last axis changes first. Bytes are those that a device holds at this
// point, rounded down.
//
//   S(d) -> R     all-gather; a copy if d != 0
//   S(d) -> S(e)  all-to-all; a copy for each of d, e that is not 0
//   P -> R        all-reduce
//   P -> S(e)     reduce-scatter; a copy if e != 0
//   R -> S        nothing, and later axes count the bytes as before
//   P -> P        nothing, if the reductions differ
//   S -> P, R -> P  infinite
//
// If the source is not contiguous, the first axis that changes needs one more copy. A source that
// is replicated on all axes costs nothing, or is infinite if the target has partial values.
// Precondition: costs.mesh() == redistribution.mesh().
// Source: AutoParallel (meta-pytorch/autoparallel, a54c2529),
// autoparallel/cost_models/collective_runtime_estimation.py, estimate_strategy_comms_cost.
double autoparallel_redistribution_us(const Redistribution& redistribution,
                                      const CollectiveCosts& costs, double memory_bytes_per_second);

// The cost of changing the placement on one axis, and the bytes per device afterwards.
struct DTensorStep {
  double microseconds;  // infinite if DTensor forbids it
  double bytes;
};

// Returns the cost of a step. `bytes`: the bytes per device before the step. DTensor's search for a
// cheapest plan uses the same cost, with bytes_per_device() of the state before the step.
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

// Returns the time in microseconds of the steps that DTensor takes. A source that is replicated on
// all axes costs nothing. Otherwise, if the source is sharded, a first pass changes each axis to
// its target, from the last axis to the first. It replicates an axis instead if the target shards a
// dimension that earlier axes do not yet shard as in the target. A second pass from the first axis
// to the last makes the remaining changes. With DTensorCosts the result equals DTensor's.
// Precondition: costs.mesh() == redistribution.mesh().
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py, redistribute_cost, and
// _redistribute.py, generate_greedy_transform_infos.
double dtensor_redistribution_us(const Redistribution& redistribution,
                                 const CollectiveCosts& costs);

}  // namespace shardwright::redistribution
