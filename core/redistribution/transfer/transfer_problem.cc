#include "core/redistribution/transfer/transfer_problem.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <unordered_set>
#include <utility>

#include "core/json_pointer.h"
#include "core/redistribution/placement/placement.h"

namespace shardwright::redistribution {
namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 48;
// Sums of bytes over all tensors and ranks stay exact integers.
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 52;

Status check_rank_mesh(const RankMesh& mesh) {
  const std::string place = "/meshes/" + pointer_token(mesh.name);
  if (mesh.shape.size() > kMaxMeshAxes) {
    return invalid_input(place + "/shape", "a mesh has at most " + std::to_string(kMaxMeshAxes) +
                                               " axes; join axes that place tensors alike");
  }
  if (const Status shape = check_mesh(mesh.shape); !shape.ok()) {
    return invalid_input(place + "/shape" + shape.error().where.substr(std::string("/mesh").size()),
                         shape.error().message);
  }
  const auto devices = static_cast<std::size_t>(num_devices(mesh.shape));
  if (devices != mesh.ranks.size()) {
    return invalid_input(place + "/ranks", "a mesh of this shape has " + std::to_string(devices) +
                                               " ranks, not " + std::to_string(mesh.ranks.size()) +
                                               "; change the shape or the ranks");
  }
  std::unordered_set<Rank> seen;
  for (const Rank rank : mesh.ranks) {
    if (rank < 0) return invalid_input(place + "/ranks", "a rank is not negative");
    if (!seen.insert(rank).second) {
      return invalid_input(place + "/ranks", "rank " + std::to_string(rank) +
                                                 " occurs twice; a rank has one place in a mesh");
    }
  }
  return {};
}

Status check_layout(const std::string& place, const std::vector<RankMesh>& meshes,
                    const Shape& shape, const TensorLayout& layout) {
  if (layout.mesh >= meshes.size()) return invalid_input(place + "/mesh", "there is no such mesh");
  for (std::size_t axis = 0; axis < kMaxMeshAxes; ++axis) {
    if (layout.placement.is_replicate(axis)) continue;
    const std::string at = place + "/placements/" + std::to_string(axis);
    if (axis >= meshes[layout.mesh].shape.size()) return invalid_input(at, "no such mesh axis");
    if (layout.placement.is_partial(axis) && meshes[layout.mesh].shape[axis] > 1) {
      return invalid_input(
          at, "a weight that is moved has no partial values; reduce it first, then give \"R\"");
    }
    if (layout.placement.is_shard(axis) && layout.placement.dim(axis) >= shape.size()) {
      return invalid_input(at, "the tensor has no such dimension");
    }
  }
  return {};
}

Result<std::int64_t> bytes_of(const std::string& place, const TransferTensor& tensor) {
  std::int64_t elements = 1;
  for (std::size_t dim = 0; dim < tensor.shape.size(); ++dim) {
    if (tensor.shape[dim] < 1) {
      return invalid_input(place + "/shape/" + std::to_string(dim),
                           "an extent cannot be " + std::to_string(tensor.shape[dim]) +
                               (tensor.shape[dim] == 0 ? "; leave out tensors without elements"
                                                       : "; write the number of elements"));
    }
    if (tensor.shape[dim] > kMaxElements / elements) {
      return invalid_input(place + "/shape", "a tensor has at most 2^48 elements");
    }
    elements *= tensor.shape[dim];
  }
  if (tensor.item_bytes < 1 || tensor.item_bytes > kMaxBytes / elements) {
    return invalid_input(place + "/data_type", "an element has no such size");
  }
  return elements * tensor.item_bytes;
}

Status check_tensors(const TransferSpec& spec) {
  if (spec.tensors.empty()) return invalid_input("/tensors", "there is no tensor to move");
  std::unordered_set<std::string> names;
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < spec.tensors.size(); ++i) {
    const TransferTensor& tensor = spec.tensors[i];
    const std::string place = entry_place("tensors", i);
    if (!names.insert(tensor.name).second) {
      return invalid_input(place + "/name", "two tensors are called " + quoted(tensor.name) +
                                                "; the receiver could not tell them apart");
    }
    SHARDWRIGHT_ASSIGN_OR_RETURN(const std::int64_t size, bytes_of(place, tensor));
    bytes += size;
    if (bytes > kMaxBytes)
      return invalid_input("/tensors",
                           "all tensors together exceed 2^52 bytes; move them in parts");
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_layout(place + "/source", spec.meshes, tensor.shape, tensor.source));
    SHARDWRIGHT_RETURN_IF_ERROR(
        check_layout(place + "/target", spec.meshes, tensor.shape, tensor.target));
  }
  return {};
}

Status check_hosts(const TransferHosts& hosts) {
  if (hosts.ranks_per_host < 1) {
    return invalid_input("/hosts/ranks_per_host", "a host has at least one rank");
  }
  const auto positive = [](double bandwidth) { return std::isfinite(bandwidth) && bandwidth > 0; };
  const char* const sentence = "a bandwidth is a positive number of bytes per millisecond";
  if (!positive(hosts.intra_host_bw)) return invalid_input("/hosts/intra_host_bw", sentence);
  if (!positive(hosts.inter_host_bw)) return invalid_input("/hosts/inter_host_bw", sentence);
  return {};
}

using GroupKey = std::tuple<std::vector<std::int64_t>, std::int64_t, std::uint32_t, std::uint64_t,
                            Rounding, std::uint32_t, std::uint64_t, Rounding>;

GroupKey key_of(const TransferTensor& tensor) {
  return {std::vector<std::int64_t>(tensor.shape.begin(), tensor.shape.end()),
          tensor.item_bytes,
          tensor.source.mesh,
          tensor.source.placement.code(),
          tensor.source.rounding,
          tensor.target.mesh,
          tensor.target.placement.code(),
          tensor.target.rounding};
}

std::vector<Rank> used_ranks(const TransferSpec& spec, const std::vector<TensorGroup>& groups) {
  std::vector<bool> used(spec.meshes.size(), false);
  for (const TensorGroup& group : groups)
    used[group.source.mesh] = used[group.target.mesh] = true;
  std::vector<Rank> ranks;
  for (std::size_t mesh = 0; mesh < used.size(); ++mesh) {
    const std::vector<Rank>& more = spec.meshes[mesh].ranks;
    if (used[mesh]) ranks.insert(ranks.end(), more.begin(), more.end());
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

}  // namespace

Status check_rank_meshes(const std::vector<RankMesh>& meshes) {
  std::unordered_set<std::string> names;
  for (const RankMesh& mesh : meshes) {
    if (!names.insert(mesh.name).second) {
      return invalid_input("/meshes", "two meshes are called " + quoted(mesh.name));
    }
    SHARDWRIGHT_RETURN_IF_ERROR(check_rank_mesh(mesh));
  }
  return {};
}

Result<TransferProblem> TransferProblem::make(TransferSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_rank_meshes(spec.meshes));
  SHARDWRIGHT_RETURN_IF_ERROR(check_tensors(spec));
  if (spec.hosts) SHARDWRIGHT_RETURN_IF_ERROR(check_hosts(*spec.hosts));
  TransferProblem problem;
  problem.spec_ = std::move(spec);
  for (TransferTensor& tensor : problem.spec_.tensors) {
    for (TensorLayout* layout : {&tensor.source, &tensor.target}) {
      layout->placement =
          effective_placement(problem.spec_.meshes[layout->mesh].shape, layout->placement);
    }
  }
  problem.group_tensors();
  problem.ranks_ = used_ranks(problem.spec_, problem.groups_);
  return problem;
}

void TransferProblem::group_tensors() {
  std::map<GroupKey, std::size_t> known;
  for (std::size_t i = 0; i < spec_.tensors.size(); ++i) {
    const TransferTensor& tensor = spec_.tensors[i];
    const auto [entry, is_new] = known.try_emplace(key_of(tensor), groups_.size());
    if (is_new) {
      groups_.push_back({tensor.shape, tensor.item_bytes, tensor.source, tensor.target, {}});
    }
    groups_[entry->second].tensors.push_back(static_cast<std::uint32_t>(i));
  }
}

Box TransferProblem::box_on(const RankMesh& mesh, const Shape& shape, const TensorLayout& layout,
                            std::size_t device) {
  return box_of(shape, mesh.shape, layout.placement, static_cast<std::int64_t>(device),
                layout.rounding);
}

}  // namespace shardwright::redistribution
