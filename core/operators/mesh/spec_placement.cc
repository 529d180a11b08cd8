#include "core/operators/mesh/spec_placement.h"

namespace shardwright::operators {

redistribution::Placement to_placement(const DimSpecs& specs) {
  redistribution::Placement placement;
  for (std::size_t dim = 0; dim < specs.rank(); ++dim) {
    for (int axis = 0; axis <= specs[dim].last_axis(); ++axis) {
      if (specs[dim].has(axis))
        placement = placement.with_shard(static_cast<std::size_t>(axis), dim);
    }
  }
  return placement;
}

DimSpecs to_dim_specs(const redistribution::Placement& placement, std::size_t rank) {
  DimSpecs specs(rank);
  for (std::size_t dim = 0; dim < rank; ++dim) {
    DimSpec spec;
    for (const std::uint8_t axis : placement.axes_of(dim))
      spec = spec.with(axis);
    specs = specs.with(dim, spec);
  }
  return specs;
}

redistribution::MeshShape mesh_shape_of(const DeviceMesh& mesh) {
  return {mesh.spec().shape.begin(), mesh.spec().shape.end()};
}

}  // namespace shardwright::operators
