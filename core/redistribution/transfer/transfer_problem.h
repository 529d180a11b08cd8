// All tensors of a model, each with its source layout and its target layout.
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

// Where the parts of a tensor are. Thread safety: a value.
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
  double intra_host_bw = 1;  // bytes per ms, of each rank in each direction
  double inter_host_bw = 1;  // bytes per ms, of all ranks of a host together in each direction
};

struct TransferSpec {
  std::vector<RankMesh> meshes;
  std::vector<TransferTensor> tensors;
  std::optional<TransferHosts> hosts;
};

// Tensors that differ in their names only, so that what holds for one holds for all.
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
  // layout on a mesh that is not there, with axes or dimensions that are not there, or with partial
  // values; over 2^52 bytes in all tensors; bandwidths that are not positive. `where` is the place
  // in a transfer file: "/meshes/<name>/ranks", "/tensors/<index>/source/placements/<axis>", ...
  // O(tensors + ranks of all meshes).
  static Result<TransferProblem> make(TransferSpec spec);

  const std::vector<RankMesh>& meshes() const { return spec_.meshes; }
  const std::vector<TransferTensor>& tensors() const { return spec_.tensors; }
  const std::optional<TransferHosts>& hosts() const { return spec_.hosts; }
  // In the order of their first tensors.
  const std::vector<TensorGroup>& groups() const { return groups_; }
  // The ranks of all meshes that a tensor uses, ascending.
  const std::vector<Rank>& ranks() const { return ranks_; }

  std::int64_t host_of(Rank rank) const {
    return spec_.hosts ? rank / spec_.hosts->ranks_per_host : 0;
  }
  // The box of a tensor of this shape that a device of the layout's mesh holds.
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
