// ColossalAI's sharding specs as placements, and back.
#pragma once

#include "core/operators/mesh/device_mesh.h"
#include "core/operators/mesh/dim_spec.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::operators {

// Precondition: no axis shards two dimensions.
redistribution::Placement to_placement(const DimSpecs& specs);

// Precondition: nothing is partial, and the axes of every dimension shard in ascending order.
DimSpecs to_dim_specs(const redistribution::Placement& placement, std::size_t rank);

redistribution::MeshShape mesh_shape_of(const DeviceMesh& mesh);

}  // namespace shardwright::operators
