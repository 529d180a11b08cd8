// How a tensor lies on a mesh: for each axis replicated, sharded or partial, with the order in
// which axes shard a dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/redistribution/placement/axis_placement.h"
#include "core/redistribution/placement/box.h"
#include "core/redistribution/placement/mesh_shape.h"
#include "core/status.h"

namespace shardwright::redistribution {

// The axes that shard a dimension, outermost first: the first one cuts the whole dimension, the
// next one each of its pieces.
struct ShardOrder {
  std::size_t dim = 0;
  Axes axes;

  friend bool operator==(const ShardOrder&, const ShardOrder&) = default;
};

// A byte per mesh axis in one word, so that placements are compared and hashed as integers. Axes
// beyond those of the mesh are replicated.
// Invariant: the axes that shard a dimension have the indices 0, 1, 2, ...; partial axes commute.
// Thread safety: a value.
class Placement {
 public:
  // Replicated on all axes.
  constexpr Placement() = default;

  // `axes`: one per mesh axis. `order`: the dimensions whose axes do not shard in ascending order.
  // Errors (kInvalidInput): over kMaxMeshAxes axes (no place); a dimension that the tensor does not
  // have or over kMaxDims (at "/<axis>"); reductions that do not commute (at "/<axis>"); an order
  // of other axes than those that shard the dimension (at "/order/<index>").
  static Result<Placement> make(std::span<const AxisPlacement> axes, std::size_t num_dims,
                                std::span<const ShardOrder> order = {});

  AxisPlacement on(std::size_t axis) const;
  bool is_replicate(std::size_t axis) const { return byte(axis) == 0; }
  bool is_shard(std::size_t axis) const { return byte(axis) >= kShard; }
  bool is_partial(std::size_t axis) const { return byte(axis) != 0 && byte(axis) < kShard; }
  // The dimension that the axis shards. Precondition: is_shard(axis).
  std::size_t dim(std::size_t axis) const { return (byte(axis) >> 4) - 1; }
  // How many axes shard that dimension before this one does. Precondition: is_shard(axis).
  std::size_t index(std::size_t axis) const { return byte(axis) & 0xf; }
  // Precondition: is_partial(axis).
  ReduceOp reduce_op(std::size_t axis) const { return static_cast<ReduceOp>(byte(axis) - 1); }

  bool has_partial() const;
  // Returns true if a reduction by `op` could be due beside those that are.
  bool commutes(ReduceOp op) const;
  // The number of axes that shard the dimension.
  std::size_t num_axes(std::size_t dim) const;
  // These axes, outermost first.
  Axes axes_of(std::size_t dim) const;
  // Returns true if no other axis cuts the pieces of this one. Precondition: is_shard(axis).
  bool is_innermost(std::size_t axis) const { return index(axis) + 1 == num_axes(dim(axis)); }

  // The placement with one axis changed. Precondition: the axis is no shard, or an innermost one. A
  // new shard becomes the innermost one of its dimension.
  Placement with_replicate(std::size_t axis) const { return with(axis, 0); }
  Placement with_shard(std::size_t axis, std::size_t dim) const;
  // The same for several axes, which become the innermost ones in this order. `index`: the number
  // of other axes that shard the dimension. Precondition: no other axis shards a dimension within
  // these.
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

  // The word, and back. Precondition of of_code(): the word of a placement.
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

  // Per byte, the first axis lowest: 0 is replicated, 1 + op is partial, (1 + dim) * 16 + index is
  // a shard.
  std::uint64_t code_ = 0;
};

}  // namespace shardwright::redistribution
