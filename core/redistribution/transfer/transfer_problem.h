// All tensors of a model, each with a source layout and a target layout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/redistribution/placement/placement.h"
#include "core/status.h"

namespace shardwright::redistribution {

// The number of a process of the job. A mesh places ranks in a grid.
using Rank = std::int32_t;

// Ranks in a grid. Thread safety: a value.
struct RankMesh {
  std::string name;
  MeshShape shape;
  std::vector<Rank> ranks;  // in row-major order of the grid
};

// Errors (kInvalidInput): those of TransferProblem::make() at "/meshes". O(ranks).
Status check_rank_meshes(const std::vector<RankMesh>& meshes);

// The mesh of a tensor and its placement on the mesh. Thread safety: a value.
struct TensorLayout {
  std::uint32_t mesh = 0;
  Placement placement;
  Rounding rounding = Rounding::kCeil;

  friend bool operator==(const TensorLayout&, const TensorLayout&) = default;
};

struct TransferTensor {
  std::string name;
  Shape shape;
  std::int64_t item_bytes = 1;
  TensorLayout source;
  TensorLayout target;
};

// Hosts and their bandwidths. Rank r is on host r / ranks_per_host.
struct TransferHosts {
  std::int64_t ranks_per_host = 1;
  double intra_host_bw = 1;  // bytes per ms, per rank and direction
  double inter_host_bw = 1;  // bytes per ms, per direction, shared by all ranks of a host
};

struct TransferSpec {
  std::vector<RankMesh> meshes;
  std::vector<TransferTensor> tensors;
  std::optional<TransferHosts> hosts;
};

// Tensors that differ in their names only, so that a plan treats them alike.
struct TensorGroup {
  Shape shape;
  std::int64_t item_bytes = 1;
  TensorLayout source;
  TensorLayout target;
  std::vector<std::uint32_t> tensors;  // ascending
};

// A checked TransferSpec, grouped.
// Thread safety: a value.
class TransferProblem {
 public:
  // Errors (kInvalidInput): names that repeat; a mesh that is no grid, or whose ranks are too few,
  // too many, negative or repeat; a tensor of over 2^48 elements, or with an extent below 1; a
  // layout with a mesh, axes or dimensions that do not exist, or with partial values; over 2^52
  // bytes in all tensors; bandwidths that are not positive. `where` is the place in a transfer
  // file: "/meshes/<name>/ranks", "/tensors/<index>/source/placements/<axis>", ... O(tensors +
  // ranks of all meshes).
  static Result<TransferProblem> make(TransferSpec spec);

  const std::vector<RankMesh>& meshes() const { return spec_.meshes; }
  const std::vector<TransferTensor>& tensors() const { return spec_.tensors; }
  const std::optional<TransferHosts>& hosts() const { return spec_.hosts; }
  // The groups, in the order of their first tensors.
  const std::vector<TensorGroup>& groups() const { return groups_; }
  // The ranks of all meshes that a tensor uses, ascending.
  const std::vector<Rank>& ranks() const { return ranks_; }

  std::int64_t host_of(Rank rank) const {
    return spec_.hosts ? rank / spec_.hosts->ranks_per_host : 0;
  }
  // Returns the box that a device of the layout's mesh holds of a tensor of this shape.
  Box box(const Shape& shape, const TensorLayout& layout, std::size_t device) const {
    return box_on(spec_.meshes[layout.mesh], shape, layout, device);
  }

 private:
  static Box box_on(const RankMesh& mesh, const Shape& shape, const TensorLayout& layout,
                    std::size_t device);
  void group_tensors();

  TransferSpec spec_;
  std::vector<TensorGroup> groups_;
  std::vector<Rank> ranks_;
};

}  // namespace shardwright::redistribution
