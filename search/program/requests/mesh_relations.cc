#include "search/program/requests/mesh_relations.h"

#include <algorithm>

namespace shardwright::program {

MeshRelations::MeshRelations(const Program& program) {
  const std::vector<ProcessMesh>& meshes = program.meshes();
  std::vector<Rank> all;
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    std::size_t first = 0;
    while (!(meshes[first] == meshes[i]))
      ++first;
    canonical_.emplace_back(first);
    all.insert(all.end(), meshes[i].ids().begin(), meshes[i].ids().end());
  }
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  const bool has_parts = std::any_of(meshes.begin(), meshes.end(), [&](const ProcessMesh& mesh) {
    return mesh.size() < all.size();
  });
  for (const ProcessMesh& mesh : meshes)
    is_union_.push_back(has_parts && mesh.size() == all.size());
  parts_.resize(meshes.size());
  for (std::size_t i = 0; i < meshes.size(); ++i)
    find_parts(program, i);
}

void MeshRelations::find_parts(const Program& program, std::size_t mesh) {
  const std::vector<ProcessMesh>& meshes = program.meshes();
  std::vector<MeshId>& parts = parts_[mesh];
  for (std::size_t i = 0; i < meshes.size(); ++i) {
    if (canonical_[i] != MeshId(i) || is_union_[i]) continue;
    if (meshes[i].size() < meshes[mesh].size() && is_subset(meshes[i], meshes[mesh])) {
      parts.emplace_back(i);
    }
  }
  const std::vector<Rank>& ranks = meshes[mesh].ids();
  const bool is_covered = std::all_of(ranks.begin(), ranks.end(), [&](Rank rank) {
    return std::any_of(parts.begin(), parts.end(),
                       [&](MeshId part) { return program.mesh(part).contains(rank); });
  });
  if (!is_covered) parts.clear();
}

}  // namespace shardwright::program
