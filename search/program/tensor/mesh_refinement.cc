#include "search/program/tensor/mesh_refinement.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace shardwright::program {
namespace {

using redistribution::Axes;
using redistribution::Placement;

// The products of the extents of the last axes, from all axes down to none.
std::vector<std::int64_t> boundaries(const ProcessMesh& mesh) {
  std::vector<std::int64_t> products{1};
  for (std::size_t axis = mesh.axes(); axis-- > 0;) {
    products.push_back(products.back() * mesh.axis_size(axis));
  }
  std::reverse(products.begin(), products.end());
  return products;
}

// For each axis of `mesh` the finer axes between its boundaries.
std::vector<Axes> runs(const ProcessMesh& mesh,
                                      const std::vector<std::int64_t>& fine) {
  const std::vector<std::int64_t> coarse = boundaries(mesh);
  std::vector<Axes> axes(mesh.axes());
  for (std::size_t i = 0; i < mesh.axes(); ++i) {
    for (std::size_t j = 0; j + 1 < fine.size(); ++j) {
      if (fine[j] <= coarse[i] && fine[j + 1] >= coarse[i + 1]) {
        axes[i].push_back(static_cast<std::uint8_t>(j));
      }
    }
  }
  return axes;
}

}  // namespace

std::optional<Refinement> refine(const ProcessMesh& source, const ProcessMesh& target) {
  if (source.ids() != target.ids()) return std::nullopt;
  std::vector<std::int64_t> fine = boundaries(source);
  const std::vector<std::int64_t> other = boundaries(target);
  fine.insert(fine.end(), other.begin(), other.end());
  std::sort(fine.begin(), fine.end(), std::greater<>());
  fine.erase(std::unique(fine.begin(), fine.end()), fine.end());
  if (fine.size() > kMaxMeshAxes + 1) return std::nullopt;
  std::vector<std::int64_t> shape;
  for (std::size_t i = 0; i + 1 < fine.size(); ++i) {
    if (fine[i] % fine[i + 1] != 0) return std::nullopt;
    shape.push_back(fine[i] / fine[i + 1]);
  }
  Refinement refinement;
  refinement.source_axes = runs(source, fine);
  refinement.target_axes = runs(target, fine);
  refinement.mesh = ProcessMesh::make_unchecked(std::move(shape), source.ids());
  return refinement;
}

Placement placement_of(const DistAttr& attr, const std::vector<Axes>& axes) {
  Placement placement;
  for (std::size_t dim = 0; dim < attr.dims_mapping.size(); ++dim) {
    if (attr.dims_mapping[dim] < 0) continue;
    for (const std::uint8_t fine : axes[static_cast<std::size_t>(attr.dims_mapping[dim])])
      placement = placement.with_shard(fine, dim);
  }
  for (std::size_t axis = 0; axis < attr.partial.size(); ++axis) {
    if (attr.partial[axis] == Reduction::kNone) continue;
    for (const std::uint8_t fine : axes[axis])
      placement = placement.with_partial(fine, op_of(attr.partial[axis]));
  }
  return placement;
}

std::vector<Rank> group_along(const ProcessMesh& mesh, std::size_t axis, std::size_t position) {
  std::vector<Rank> group;
  const Axes one(1, static_cast<std::uint8_t>(axis));
  for (const std::int64_t other : redistribution::devices_through(
           mesh.shape(), one, static_cast<std::int64_t>(position))) {
    group.push_back(mesh.ids()[static_cast<std::size_t>(other)]);
  }
  return group;
}

}  // namespace shardwright::program
