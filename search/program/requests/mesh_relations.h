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
  // Returns false for the mesh of all ranks in a program that also has smaller ones: a tensor on it
  // is a tensor on a union of meshes.
  bool is_known(MeshId mesh) const { return is_known_[mesh.index()]; }
  // The smaller known meshes within this one. Empty unless they cover it.
  const std::vector<MeshId>& parts(MeshId mesh) const { return parts_[mesh.index()]; }

 private:
  void find_parts(const Program& program, std::size_t mesh);

  std::vector<MeshId> canonical_;
  std::vector<bool> is_known_;
  std::vector<std::vector<MeshId>> parts_;
};

}  // namespace shardwright::program
