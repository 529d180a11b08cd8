// Moves between placements: collectives, splits, and permutations of devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::redistribution {

// Returns true if a permutation of devices turns `a` into `b`: each device sends all of its data to
// at most one other device. Both placements then cut every dimension into the same pieces and hold
// equally many terms of each reduction. Axes may differ in size if all pieces are of equal size.
// Preconditions: a checked mesh, placements of the shape.
bool is_permutation(const Shape& shape, const MeshShape& mesh, const Placement& a,
                    const Placement& b);

// Returns, ascending, the axes along which a device differs from the device that holds the same
// part in the other placement. Axes of one device are left out. Precondition: is_permutation(a, b).
Axes permuted_axes(const MeshShape& mesh, const Placement& a, const Placement& b);

// Returns the device that holds in `before` the part that `device` holds in `after`. The map is a
// bijection along permuted_axes() only. Precondition: is_permutation(before, after).
std::int64_t permuted_from(const MeshShape& mesh, const Placement& before, const Placement& after,
                           std::int64_t device);

// A step between two placements. Several axes act as one, with the first axis the slowest.
// Thread safety: a value.
struct Move {
  enum class Kind : std::uint8_t {
    kAllGather,      // the innermost axes of dimension `from` replicate
    kAllToAll,       // the innermost axes of dimension `from` shard dimension `to` instead
    kSplit,          // replicated axes shard dimension `to`; nothing is sent
    kAllReduce,      // partial axes replicate
    kReduceScatter,  // partial axes shard dimension `to`
    kToPartial,      // a replicated axis becomes partial; nothing is sent
    kPermute,        // devices exchange parts: each sends all of its data to at most one other
  };
  static constexpr std::size_t kNumKinds = 7;

  Kind kind = Kind::kSplit;
  Axes axes;  // for kPermute: the axes along which devices send
  std::uint8_t from = 0;
  std::uint8_t to = 0;
  ReduceOp reduce_op = ReduceOp::kSum;  // all-reduce, reduce-scatter, to partial
  Placement permuted = {};              // kPermute: the placement after the move

  bool communicates() const { return kind != Kind::kSplit && kind != Kind::kToPartial; }
  friend bool operator==(const Move&, const Move&) = default;
};

std::string_view to_name(Move::Kind kind);  // "all_gather", ...
// Returns a text such as "all_gather(0) of dim 1" for reports and messages.
std::string to_text(const Move& move);

// Checks that the move can start from this placement. Errors: kInvalidInput without a place.
// Preconditions: a checked mesh, a placement of the shape.
Status check_move(const MeshShape& mesh, const Shape& shape, const Placement& placement,
                  const Move& move);

// Returns the placement after the move. Precondition: check_move() succeeded.
Placement after(Placement placement, const Move& move);

// Returns the number of elements that the busiest sender sends in a move. Every collective passes
// parts around a ring of the devices along its axes. Precondition: check_move() succeeded.
// Source: Thakur, Rabenseifner, Gropp, as cited in core/redistribution/cost/topology_costs.h.
std::int64_t sent_elements(const Shape& shape, const MeshShape& mesh, const Placement& before,
                           const Move& move);

}  // namespace shardwright::redistribution
