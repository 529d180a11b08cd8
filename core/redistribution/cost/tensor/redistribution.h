// The redistribution of one tensor: from one placement on every mesh axis to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/redistribution/placement/axis_placement.h"
#include "core/redistribution/placement/mesh_shape.h"
#include "core/status.h"

namespace shardwright::redistribution {

// Where axes of one dimension are sharded together, the first axis has the largest parts.
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
  // Of the source: the bytes of the tensor divided by the parts that it is sharded in. Uneven parts
  // count as if they were even.
  double source_bytes_per_device() const { return source_bytes_per_device_; }
  bool source_is_replicated() const;

 private:
  explicit Redistribution(RedistributionSpec spec);

  RedistributionSpec spec_;
  bool is_contiguous_;
  double source_bytes_per_device_;
};

// bytes / parts, where `placements` shard a tensor of `bytes` in so many parts, rounded once as
// Python's int / int. Preconditions: bytes < 2^62, a checked mesh, a placement for each axis.
double bytes_per_device(std::int64_t bytes, const MeshShape& mesh,
                        const std::vector<AxisPlacement>& placements);

}  // namespace shardwright::redistribution
