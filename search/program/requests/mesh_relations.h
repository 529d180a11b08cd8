// How the meshes of a program relate to each other.
#pragma once

#include <vector>

#include "core/program/program.h"

namespace shardwright::program {

// Thread safety: immutable; const members may be called from any thread.
class MeshRelations {
 public:
  // O(meshes^2 x ranks).
  explicit MeshRelations(const Program& program);

  // Equal meshes have one canonical id.
  MeshId canonical(MeshId mesh) const { return canonical_[mesh.index()]; }
  // Returns true for the mesh of all ranks if the program also has smaller ones. A tensor on it is
  // taken as a tensor on a union of meshes.
  bool is_union(MeshId mesh) const { return is_union_[mesh.index()]; }
  // The smaller meshes within this one that are no unions. Empty unless they cover it.
  const std::vector<MeshId>& parts(MeshId mesh) const { return parts_[mesh.index()]; }

 private:
  void find_parts(const Program& program, std::size_t mesh);

  std::vector<MeshId> canonical_;
  std::vector<bool> is_union_;
  std::vector<std::vector<MeshId>> parts_;
};

}  // namespace shardwright::program
