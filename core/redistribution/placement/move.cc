#include "core/redistribution/placement/move.h"

#include <algorithm>
#include <array>

#include "core/check.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {
namespace {

// The roles of the axes of a placement: cutting a dimension, holding the terms of a reduction, or
// holding copies.
constexpr std::size_t kNumRoles = kMaxDims + kNumReduceOps + 1;
constexpr std::size_t kCopies = kNumRoles - 1;

std::size_t role_of(const Placement& placement, std::size_t axis) {
  if (placement.is_shard(axis)) return placement.dim(axis);
  if (placement.is_partial(axis))
    return kMaxDims + static_cast<std::size_t>(placement.reduce_op(axis));
  return kCopies;
}

// By role, the axes with several devices, outermost first. The coordinates along these axes are the
// digits of a device's number within the role.
using Roles = std::array<Axes, kNumRoles>;

Roles roles_of(const MeshShape& mesh, const Placement& placement) {
  Roles roles;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (mesh[axis] == 1) continue;
    Axes& axes = roles[role_of(placement, axis)];
    auto at = axes.end();
    while (placement.is_shard(axis) && at != axes.begin() &&
           placement.index(*(at - 1)) > placement.index(axis))
      --at;
    axes.insert(at, static_cast<std::uint8_t>(axis));
  }
  return roles;
}

// Copies are equal, so axes that hold copies in both placements need no exchange.
void drop_common_copies(Roles& a, Roles& b) {
  const Axes both = a[kCopies];
  for (const std::uint8_t axis : both) {
    const auto other = std::find(b[kCopies].begin(), b[kCopies].end(), axis);
    if (other == b[kCopies].end()) continue;
    b[kCopies].erase(other);
    a[kCopies].erase(std::find(a[kCopies].begin(), a[kCopies].end(), axis));
  }
}

bool same_sizes(const MeshShape& mesh, const Axes& a, const Axes& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](std::uint8_t x, std::uint8_t y) { return mesh[x] == mesh[y]; });
}

// Removes digits that both numbers share: the same axis, with equally many devices inside.
void drop_equal_digits(const MeshShape& mesh, Axes& a, Axes& b) {
  std::int64_t inside_a = 1;
  std::int64_t inside_b = 1;
  Axes left_a = a;
  Axes left_b = b;
  std::size_t i = a.size();
  std::size_t j = b.size();
  while (i > 0 && j > 0) {
    if (inside_a == inside_b && a[i - 1] == b[j - 1]) {
      left_a.erase(std::find(left_a.begin(), left_a.end(), a[i - 1]));
      left_b.erase(std::find(left_b.begin(), left_b.end(), b[j - 1]));
    }
    if (inside_a <= inside_b) {
      inside_a *= mesh[a[--i]];
    } else {
      inside_b *= mesh[b[--j]];
    }
  }
  a = left_a;
  b = left_b;
}

}  // namespace

bool is_permutation(const Shape& shape, const MeshShape& mesh, const Placement& a,
                    const Placement& b) {
  const Roles from = roles_of(mesh, a);
  const Roles to = roles_of(mesh, b);
  for (std::size_t role = 0; role < kNumRoles; ++role) {
    const std::int64_t parts = devices_along(mesh, from[role]);
    if (parts != devices_along(mesh, to[role])) return false;
    // Uneven pieces depend on the order of the axes that cut.
    if (role < shape.size() && shape[role] % parts != 0 && !same_sizes(mesh, from[role], to[role]))
      return false;
  }
  return true;
}

Axes permuted_axes(const MeshShape& mesh, const Placement& a, const Placement& b) {
  Roles from = roles_of(mesh, a);
  Roles to = roles_of(mesh, b);
  drop_common_copies(from, to);
  Axes axes;
  for (std::size_t role = 0; role < kNumRoles; ++role) {
    drop_equal_digits(mesh, from[role], to[role]);
    for (const Axes* side : {&from[role], &to[role]}) {
      for (const std::uint8_t axis : *side) {
        if (std::find(axes.begin(), axes.end(), axis) == axes.end()) axes.push_back(axis);
      }
    }
  }
  std::sort(axes.begin(), axes.end());
  return axes;
}

std::int64_t permuted_from(const MeshShape& mesh, const Placement& before, const Placement& after,
                           std::int64_t device) {
  Roles from = roles_of(mesh, before);
  Roles to = roles_of(mesh, after);
  drop_common_copies(from, to);
  std::int64_t found = device;
  for (std::size_t role = 0; role < kNumRoles; ++role) {
    std::int64_t number = 0;
    for (const std::uint8_t axis : to[role])
      number = number * mesh[axis] + coordinate(mesh, device, axis);
    for (std::size_t i = from[role].size(); i-- > 0;) {
      const std::uint8_t axis = from[role][i];
      found += (number % mesh[axis] - coordinate(mesh, device, axis)) * stride(mesh, axis);
      number /= mesh[axis];
    }
  }
  return found;
}

namespace {

using Kind = Move::Kind;

constexpr std::array<std::string_view, Move::kNumKinds> kNames{
    "all_gather", "all_to_all", "split", "all_reduce", "reduce_scatter", "r_to_p", "permute"};

Error refused(const Move& move, const std::string& reason) {
  return invalid_input("", to_text(move) + ": " + reason);
}

bool takes_shards(Kind kind) { return kind == Kind::kAllGather || kind == Kind::kAllToAll; }
bool makes_shards(Kind kind) {
  return kind == Kind::kAllToAll || kind == Kind::kSplit || kind == Kind::kReduceScatter;
}
bool reduces(Kind kind) { return kind == Kind::kAllReduce || kind == Kind::kReduceScatter; }

Status check_axis_lists(const MeshShape& mesh, const Move& move) {
  if (move.axes.empty()) return refused(move, "names no axis");
  for (std::size_t i = 0; i < move.axes.size(); ++i) {
    if (move.axes[i] >= mesh.size()) {
      return refused(move, "the mesh has no axis " + std::to_string(move.axes[i]));
    }
    for (std::size_t j = 0; j < i; ++j) {
      if (move.axes[i] == move.axes[j]) return refused(move, "names an axis twice");
    }
  }
  return {};
}

Status check_permute(const MeshShape& mesh, const Shape& shape, const Placement& placement,
                     const Move& move) {
  if (!is_permutation(shape, mesh, placement, move.permuted))
    return refused(move, "devices would hold other parts than before");
  if (permuted_axes(mesh, placement, move.permuted) != move.axes)
    return refused(move, "these are not the axes along which devices send");
  return {};
}

Status check_taken(const Placement& placement, const Move& move) {
  const Axes sharding = placement.axes_of(move.from);
  const std::size_t kept = sharding.size() - std::min(sharding.size(), move.axes.size());
  if (Axes(sharding.begin() + static_cast<std::ptrdiff_t>(kept), sharding.end()) != move.axes) {
    return refused(move,
                   "these are not the innermost axes of dimension " + std::to_string(move.from));
  }
  if (move.kind == Kind::kAllToAll && move.from == move.to) {
    return refused(move, "exchanges a dimension with itself");
  }
  return {};
}

Status check_reduced(const Placement& placement, const Move& move) {
  for (const std::uint8_t axis : move.axes) {
    if (!placement.is_partial(axis) || !commute(placement.reduce_op(axis), move.reduce_op)) {
      return refused(move, "axis " + std::to_string(axis) + " has no such reduction due");
    }
  }
  return {};
}

Status check_replicated(const Placement& placement, const Move& move) {
  for (const std::uint8_t axis : move.axes) {
    if (!placement.is_replicate(axis)) {
      return refused(move, "axis " + std::to_string(axis) + " is not replicated");
    }
  }
  if (move.kind == Kind::kToPartial && move.reduce_op == ReduceOp::kProduct) {
    return refused(move, "no device makes the factors of a product from its value");
  }
  if (move.kind == Kind::kToPartial && !placement.commutes(move.reduce_op)) {
    return refused(move, "does not commute with the reductions that are due");
  }
  return {};
}

}  // namespace

std::string_view to_name(Kind kind) { return kNames[static_cast<std::size_t>(kind)]; }

std::string to_text(const Move& move) {
  std::string text(to_name(move.kind));
  text += '(';
  for (std::size_t i = 0; i < move.axes.size(); ++i)
    text += (i == 0 ? "" : ",") + std::to_string(move.axes[i]);
  text += ')';
  if (takes_shards(move.kind)) text += " of dim " + std::to_string(move.from);
  if (makes_shards(move.kind)) text += " to dim " + std::to_string(move.to);
  if (reduces(move.kind) || move.kind == Kind::kToPartial)
    text += std::string(" by ") + name_of(move.reduce_op);
  return text;
}

Status check_move(const MeshShape& mesh, const Shape& shape, const Placement& placement,
                  const Move& move) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_axis_lists(mesh, move));
  if (takes_shards(move.kind) && move.from >= shape.size()) {
    return refused(move, "the tensor has no dimension " + std::to_string(move.from));
  }
  if (makes_shards(move.kind) && move.to >= shape.size()) {
    return refused(move, "the tensor has no dimension " + std::to_string(move.to));
  }
  if (move.kind == Kind::kPermute) return check_permute(mesh, shape, placement, move);
  if (takes_shards(move.kind)) return check_taken(placement, move);
  return reduces(move.kind) ? check_reduced(placement, move) : check_replicated(placement, move);
}

Placement after(Placement placement, const Move& move) {
  if (move.kind == Kind::kPermute) return move.permuted;
  for (std::size_t i = move.axes.size(); i-- > 0;)
    placement = placement.with_replicate(move.axes[i]);
  if (move.kind == Kind::kToPartial)
    return placement.with_partial(move.axes.front(), move.reduce_op);
  if (!makes_shards(move.kind)) return placement;
  for (const std::uint8_t axis : move.axes)
    placement = placement.with_shard(axis, move.to);
  return placement;
}

std::int64_t sent_elements(const Shape& shape, const MeshShape& mesh, const Placement& before,
                           const Move& move) {
  const std::int64_t held = largest_box(shape, mesh, before);
  const std::int64_t devices = devices_along(mesh, move.axes);
  switch (move.kind) {
    case Kind::kAllGather:
      return held * (devices - 1);
    case Kind::kAllToAll:
    case Kind::kReduceScatter:
      return held - held / devices;
    case Kind::kAllReduce:
      return 2 * (held - held / devices);
    case Kind::kPermute:
      return held;
    case Kind::kSplit:
    case Kind::kToPartial:
      return 0;
  }
  return 0;
}

}  // namespace shardwright::redistribution
