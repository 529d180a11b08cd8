// A tensor on a mesh, which a search moves from one placement to another.
#pragma once

#include "core/redistribution/placement/box.h"
#include "core/redistribution/placement/mesh_shape.h"

namespace shardwright::redistribution {

// Thread safety: a value.
struct TensorOnMesh {
  MeshShape mesh;
  Shape shape;
};

}  // namespace shardwright::redistribution
