#include "core/redistribution/placement/permutation.h"

#include <algorithm>
#include <array>

namespace shardwright::redistribution {
namespace {

// What the axes of a placement do together: cut a dimension, hold the terms of a reduction, or hold
// copies.
constexpr std::size_t kNumRoles = kMaxDims + kNumReduceOps + 1;
constexpr std::size_t kCopies = kNumRoles - 1;

std::size_t role_of(const Placement& placement, std::size_t axis) {
  if (placement.is_shard(axis)) return placement.dim(axis);
  if (placement.is_partial(axis))
    return kMaxDims + static_cast<std::size_t>(placement.reduce_op(axis));
  return kCopies;
}

// By role the axes of more than one device, outermost first. A device's number among those of a
// role has their coordinates as its digits.
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

// Copies are alike, so axes that hold copies in both placements stay as they are.
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

// Removes the digits, innermost first, that are the same axis with the same devices inside it.
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
    // Uneven pieces depend on the order of the cuts.
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

}  // namespace shardwright::redistribution
