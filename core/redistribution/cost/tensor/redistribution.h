// The redistribution of one tensor: from one placement on every mesh axis to another.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/redistribution/cost/collective_costs.h"

namespace shardwright::redistribution {

// How partial values become one.
enum class ReduceOp { kSum, kAvg, kMin, kMax, kProduct };

// What the devices along one mesh axis hold of a tensor.
// Thread safety: a value.
struct AxisPlacement {
  enum class Kind {
    kReplicate,  // all the same
    kShard,      // the parts of dimension `dim`, of equal size but for the last ones
    kPartial,    // values of full size, to be reduced by `reduce_op`
  };

  static AxisPlacement replicate() { return {}; }
  static AxisPlacement shard(std::size_t dim) { return {Kind::kShard, dim, ReduceOp::kSum}; }
  static AxisPlacement partial(ReduceOp op) { return {Kind::kPartial, 0, op}; }

  bool is_replicate() const { return kind == Kind::kReplicate; }
  bool is_shard() const { return kind == Kind::kShard; }
  bool is_partial() const { return kind == Kind::kPartial; }
  bool operator==(const AxisPlacement&) const = default;

  Kind kind = Kind::kReplicate;
  std::size_t dim = 0;                  // 0 unless it is a shard
  ReduceOp reduce_op = ReduceOp::kSum;  // kSum unless it is partial
};

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
