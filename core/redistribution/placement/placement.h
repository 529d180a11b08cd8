// Placements of a tensor on a mesh: for each mesh axis, devices hold shards, copies or terms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <boost/container/small_vector.hpp>
#include <boost/container/static_vector.hpp>

#include "core/status.h"

namespace shardwright::redistribution {

// How partial values are reduced to one value.
enum class ReduceOp : std::uint8_t { kSum, kAvg, kMin, kMax, kProduct };
inline constexpr std::size_t kNumReduceOps = 5;

// Returns torch's names: "sum", "avg", "min", "max", "product".
const char* name_of(ReduceOp op);

// Returns true if reductions by both may be done in any order. Sums and averages commute; all other
// reductions commute with themselves only.
constexpr bool commute(ReduceOp a, ReduceOp b) {
  const auto linear = [](ReduceOp op) { return op == ReduceOp::kSum || op == ReduceOp::kAvg; };
  return a == b || (linear(a) && linear(b));
}

// The placement along one mesh axis.
// Thread safety: a value.
struct AxisPlacement {
  enum class Kind : std::uint8_t {
    kReplicate,  // all devices hold the same
    kShard,      // devices hold parts of dimension `dim`, of equal size except for the last ones
    kPartial,    // devices hold values of full size, to be reduced by `reduce_op`
  };

  static AxisPlacement replicate() { return {}; }
  static AxisPlacement shard(std::size_t dim) { return {Kind::kShard, dim, ReduceOp::kSum}; }
  static AxisPlacement partial(ReduceOp op) { return {Kind::kPartial, 0, op}; }

  bool is_replicate() const { return kind == Kind::kReplicate; }
  bool is_shard() const { return kind == Kind::kShard; }
  bool is_partial() const { return kind == Kind::kPartial; }
  bool operator==(const AxisPlacement&) const = default;

  Kind kind = Kind::kReplicate;
  std::size_t dim = 0;                  // 0 except for shards
  ReduceOp reduce_op = ReduceOp::kSum;  // kSum except for partial
};

// A Placement packs one byte per axis into a 64-bit word.
inline constexpr std::size_t kMaxMeshAxes = 8;

// The number of devices along each axis. The last axis is the innermost: its devices are closest to
// each other. A device's number is the row-major index of its coordinates.
using MeshShape = std::vector<std::int64_t>;

// Axes of a mesh; the order matters.
using Axes = boost::container::static_vector<std::uint8_t, kMaxMeshAxes>;

// Errors (kInvalidInput at `/mesh`): no axis, an axis without devices, more than 2^31 devices.
Status check_mesh(const MeshShape& mesh);

// Returns the number of devices of the mesh. Precondition: a checked mesh.
std::int64_t num_devices(const MeshShape& mesh);
// Returns the number of devices along all of `axes` together. Precondition: the mesh has them.
std::int64_t devices_along(const MeshShape& mesh, const Axes& axes);

// Returns the coordinate of a device along `axis`. Precondition: 0 <= device < num_devices(mesh).
std::int64_t coordinate(const MeshShape& mesh, std::int64_t device, std::size_t axis);
// Returns the difference between the numbers of two neighbours along `axis`.
std::int64_t stride(const MeshShape& mesh, std::size_t axis);

// Returns the devices that differ from `device` only along `axes`, including `device`. They are in
// the order of ascending coordinates, with the first axis as the slowest.
std::vector<std::int64_t> devices_through(const MeshShape& mesh, const Axes& axes,
                                          std::int64_t device);

// Returns true if the axis and the axes inside it have more devices than a host. Preconditions: a
// checked mesh, axis < mesh.size().
bool leaves_host(const MeshShape& mesh, std::size_t axis, std::int64_t devices_per_host);

inline constexpr std::size_t kMaxDims = 9;

// The number of elements in each dimension.
using Shape = boost::container::static_vector<std::int64_t, kMaxDims>;

struct Interval {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  std::int64_t size() const { return end - begin; }
  friend bool operator==(const Interval&, const Interval&) = default;
  friend auto operator<=>(const Interval&, const Interval&) = default;
};

// One interval per dimension, in elements of the whole tensor.
using Box = boost::container::small_vector<Interval, 4>;

Shape shape_of(const Box& box);
std::int64_t num_elements(const Box& box);
std::int64_t num_elements(const Shape& shape);
Box whole(const Shape& shape);

// Returns true if the boxes have an element in common. Equal empty intervals count as overlapping,
// so that a tensor without elements has an owner.
bool overlap(const Box& a, const Box& b);
Box intersection(const Box& a, const Box& b);  // precondition: overlap(a, b)
// Returns `inner` in coordinates relative to `outer`.
Box relative(const Box& inner, const Box& outer);

// How a dimension is cut into pieces that need not be of equal size. If several axes cut a
// dimension, each axis cuts the pieces of the axis before.
enum class Rounding : std::uint8_t {
  // Pieces have ceil(size / pieces) elements; the last ones are shorter or empty. Source:
  // torch.chunk, as DTensor uses it.
  kCeil,
  // The first size % pieces pieces are longer by one element. Source: Paddle's Resharder and
  // numpy.array_split.
  kBalanced,
};

// Returns piece number `index` of `size` elements. Preconditions: size >= 0, 0 <= index < pieces.
Interval cut(std::int64_t size, std::int64_t pieces, std::int64_t index, Rounding rounding);

// The axes that shard a dimension, outermost first: the first axis cuts the whole dimension, the
// next axis cuts each of these pieces.
struct ShardOrder {
  std::size_t dim = 0;
  Axes axes;

  friend bool operator==(const ShardOrder&, const ShardOrder&) = default;
};

// The placement along every mesh axis, packed into one word with one byte per axis, so that
// placements are compared and hashed as integers. Axes beyond those of the mesh are replicated.
// Invariants: the axes that shard a dimension have the indices 0, 1, 2, ...; partial axes commute.
// Thread safety: a value.
class Placement {
 public:
  // Replicated on all axes.
  constexpr Placement() = default;

  // `axes`: one placement per mesh axis. `order`: for dimensions whose axes do not shard in
  // ascending order. Errors (kInvalidInput): more than kMaxMeshAxes axes or kMaxDims dimensions (no
  // place); a dimension that the tensor does not have (at "/<axis>"); reductions that do not
  // commute (at "/<axis>"); an order of axes that do not shard the dimension (at "/order/<index>").
  static Result<Placement> make(std::span<const AxisPlacement> axes, std::size_t num_dims,
                                std::span<const ShardOrder> order = {});

  AxisPlacement on(std::size_t axis) const;
  bool is_replicate(std::size_t axis) const { return byte(axis) == 0; }
  bool is_shard(std::size_t axis) const { return byte(axis) >= kShard; }
  bool is_partial(std::size_t axis) const { return byte(axis) != 0 && byte(axis) < kShard; }
  // The dimension that the axis shards. Precondition: is_shard(axis).
  std::size_t dim(std::size_t axis) const { return (byte(axis) >> 4) - 1; }
  // The number of axes that cut the same dimension before this axis. Precondition: is_shard(axis).
  std::size_t index(std::size_t axis) const { return byte(axis) & 0xf; }
  // Precondition: is_partial(axis).
  ReduceOp reduce_op(std::size_t axis) const { return static_cast<ReduceOp>(byte(axis) - 1); }

  bool has_partial() const;
  // Returns true if `op` commutes with the reductions of all partial axes.
  bool commutes(ReduceOp op) const;
  // The number of axes that shard the dimension.
  std::size_t num_axes(std::size_t dim) const;
  // Returns the axes that shard the dimension, outermost first.
  Axes axes_of(std::size_t dim) const;
  // Returns true if no other axis cuts the pieces of this axis. Precondition: is_shard(axis).
  bool is_innermost(std::size_t axis) const { return index(axis) + 1 == num_axes(dim(axis)); }

  // Return the placement with one axis changed. Precondition: the axis is not a shard, or is an
  // innermost one. A new shard becomes the innermost one of its dimension.
  Placement with_replicate(std::size_t axis) const { return with(axis, 0); }
  Placement with_shard(std::size_t axis, std::size_t dim) const;
  // The same for several axes. New shards become the innermost ones, in the order of `axes`.
  // `index`: the number of other axes that shard the dimension. Precondition: if an axis is in
  // `axes`, all axes that cut its pieces are in `axes`, too.
  Placement with_replicates(const Axes& axes) const {
    Placement placement = *this;
    for (const std::uint8_t axis : axes)
      placement = placement.with(axis, 0);
    return placement;
  }
  Placement with_shards(const Axes& axes, std::size_t dim, std::size_t index) const {
    Placement placement = *this;
    for (const std::uint8_t axis : axes)
      placement = placement.with(axis, (dim + 1) << 4 | index++);
    return placement;
  }
  Placement with_partial(std::size_t axis, ReduceOp op) const;

  // The word of the placement, and the placement of a word from code().
  constexpr std::uint64_t code() const { return code_; }
  static constexpr Placement of_code(std::uint64_t code) { return Placement(code); }

  friend constexpr bool operator==(const Placement&, const Placement&) = default;

 private:
  static constexpr std::uint64_t kShard = 16;

  explicit constexpr Placement(std::uint64_t code) : code_(code) {}
  std::uint64_t byte(std::size_t axis) const { return code_ >> (8 * axis) & 0xff; }
  Placement with(std::size_t axis, std::uint64_t byte) const {
    return Placement((code_ & ~(std::uint64_t{0xff} << (8 * axis))) | byte << (8 * axis));
  }

  // One byte per axis, the first axis in the lowest byte. 0 is replicated, 1 + op is partial, (1 +
  // dim) * 16 + index is a shard.
  std::uint64_t code_ = 0;
};

// Returns the box that the device holds. A partial axis does not change the box, because the device
// has one term of every element. Preconditions: a checked mesh, a placement of a tensor of this
// shape. O(dimensions + axes). Source for several axes with kCeil: torch 2.13,
// torch/distributed/tensor/_utils.py, compute_local_shape_and_global_offset.
Box box_of(const Shape& shape, const MeshShape& mesh, const Placement& placement,
           std::int64_t device, Rounding rounding);

// Returns the number of elements of the largest box, held by device 0, with either rounding.
std::int64_t largest_box(const Shape& shape, const MeshShape& mesh, const Placement& placement);

// Returns the placement with axes of one device replicated. Every device holds the same as before.
Placement effective_placement(const MeshShape& mesh, const Placement& placement);

// Returns true if the pieces of every dimension are of equal size.
bool is_even(const Shape& shape, const MeshShape& mesh, const Placement& placement);

}  // namespace shardwright::redistribution
