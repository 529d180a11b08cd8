// Moves between placements: collectives, splits, and permutations of devices.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::redistribution {

// Returns true if a permutation of devices turns `a` into `b`: each device sends all that it holds
// to at most one other. Both placements then cut every dimension into the same pieces and hold the
// same number of terms of each reduction. Axes may differ in size if pieces are even.
// Preconditions: a checked mesh, placements of the shape.
bool is_permutation(const Shape& shape, const MeshShape& mesh, const Placement& a,
                    const Placement& b);

// Returns, ascending, the axes along which a device differs from the device that holds the same
// part in the other placement. Axes of one device are left out. Precondition: is_permutation(a, b).
Axes permuted_axes(const MeshShape& mesh, const Placement& a, const Placement& b);

// Returns the device that holds in `before` what `device` holds in `after`. The map is a bijection
// along permuted_axes() only. Precondition: is_permutation(before, after).
std::int64_t permuted_from(const MeshShape& mesh, const Placement& before, const Placement& after,
                           std::int64_t device);

// Several axes act as one axis of all their devices, the first one the slowest.
// Thread safety: a value.
struct Move {
  enum class Kind : std::uint8_t {
    kAllGather,      // the innermost axes of dimension `from` replicate
    kAllToAll,       // the innermost axes of dimension `from` shard dimension `to` instead
    kSplit,          // replicated axes shard dimension `to`; nothing is sent
    kAllReduce,      // partial axes replicate
    kReduceScatter,  // partial axes shard dimension `to`
    kToPartial,      // a replicated axis becomes partial; nothing is sent
    kPermute,        // devices change places: each sends all that it holds to at most one other
  };
  static constexpr std::size_t kNumKinds = 7;

  Kind kind = Kind::kSplit;
  Axes axes;  // of a permute: those along which devices send
  std::uint8_t from = 0;
  std::uint8_t to = 0;
  ReduceOp reduce_op = ReduceOp::kSum;  // all-reduce, reduce-scatter, to partial
  Placement permuted = {};              // permute: the placement after it

  bool communicates() const { return kind != Kind::kSplit && kind != Kind::kToPartial; }
  friend bool operator==(const Move&, const Move&) = default;
};

std::string_view to_name(Move::Kind kind);  // "all_gather", ...
// "all_gather(0) of S(1)", as reports and messages show it.
std::string to_text(const Move& move);

// Checks that the placement has what the move needs. Errors: kInvalidInput without a place.
// Preconditions: a checked mesh, a placement of the shape.
Status check_move(const MeshShape& mesh, const Shape& shape, const Placement& placement,
                  const Move& move);

// The placement after the move. Precondition: check_move().
Placement after(Placement placement, const Move& move);

// The number of elements that the busiest sender sends in a move. Every collective passes parts
// round a ring of the devices along its axes. Precondition: check_move().
// Source: Thakur, Rabenseifner, Gropp, as cited in core/redistribution/cost/topology_costs.h.
std::int64_t sent_elements(const Shape& shape, const MeshShape& mesh, const Placement& before,
                           const Move& move);

}  // namespace shardwright::redistribution
