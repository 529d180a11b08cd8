// The cost of redistributing one tensor on a mesh, under AutoParallel's and under DTensor's rules.
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

// Memory bandwidth in bytes per second of a device such as "NVIDIA H100 80GB HBM3". None if
// AutoParallel does not know the name.
// Source: DEVICE_LIMITS in AutoParallel's (meta-pytorch/autoparallel, a54c2529)
// autoparallel/cost_models/compute_estimation.py, from the vendors' data sheets, with a TB of 2^40
// bytes and a GB of 2^30.
std::optional<double> memory_bytes_per_second(std::string_view device_name);

// The time in microseconds of a kernel that reads and writes `bytes` in all, at 70 % of the
// bandwidth and at least 7. Source: compute_read_write_time, in the same file.
double read_write_us(double bytes, double bytes_per_second);

// Of several axes that shard one dimension, the first cuts the dimension, later ones its parts.
struct RedistributionSpec {
  MeshShape mesh;
  std::vector<std::int64_t> shape;    // of the whole tensor
  std::vector<std::int64_t> strides;  // of the whole tensor, in elements; contiguous if empty
  std::int64_t itemsize = 0;          // bytes of an element
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
  // Whether the elements lie in row-major order without gaps. Dimensions of one element do not
  // count. Source: torch._prims_common.check_contiguous_sizes_strides.
  bool is_contiguous() const { return is_contiguous_; }
  // The bytes of the tensor divided by the number of parts in the source placement. Uneven parts
  // count as even.
  double source_bytes_per_device() const { return source_bytes_per_device_; }
  bool source_is_replicated() const;

 private:
  explicit Redistribution(RedistributionSpec spec);

  RedistributionSpec spec_;
  bool is_contiguous_;
  double source_bytes_per_device_;
};

// `bytes` divided by the number of parts into which `placements` shard a tensor, rounded once like
// Python's int / int. Preconditions: bytes < 2^62, a checked mesh, a placement for each axis.
double bytes_per_device(std::int64_t bytes, const MeshShape& mesh,
                        const std::vector<AxisPlacement>& placements);

// The time in microseconds: the collectives of all axes whose placement changes, and the copies
// that reorder elements. Infinite if AutoParallel forbids a change.
//
// Axes change from the first to the last. Exception: on a mesh of two axes, if both change from
// partial sums to shards, the last axis changes first. Bytes are what a device holds at that point,
// rounded down.
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

// The cost of changing the placement on one axis, and the bytes that a device holds afterwards.
struct DTensorStep {
  double microseconds;  // infinite if DTensor forbids it
  double bytes;
};

// Returns the cost of a step. `bytes`: what a device holds before the step. DTensor's search for a
// cheapest plan has the same cost, at bytes_per_device() of the state before the step.
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
// changes each axis to its target; but if the target is a shard of a dimension that earlier axes do
// not yet shard as in the target, the axis is replicated instead. A second pass from the first axis
// to the last makes the remaining changes. With DTensorCosts the result equals DTensor's.
// Precondition: costs.mesh() == redistribution.mesh().
// Source: torch 2.13, torch/distributed/tensor/_collective_utils.py, redistribute_cost, and
// _redistribute.py, generate_greedy_transform_infos.
double dtensor_redistribution_us(const Redistribution& redistribution,
                                 const CollectiveCosts& costs);

}  // namespace shardwright::redistribution
