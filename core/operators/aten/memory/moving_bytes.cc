#include "core/operators/aten/memory/moving_bytes.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace shardwright::operators {
namespace {

using redistribution::AxisPlacement;
using redistribution::MeshShape;
using redistribution::Placement;

// Moves a tensor axis by axis.
// Thread safety: one thread at a time.
class Mover {
 public:
  Mover(const AtenTensor& tensor, const MeshShape& mesh, const Placement& source,
        const Placement& target, CollectiveBackend backend)
      : tensor_(tensor), mesh_(mesh), backend_(backend) {
    for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
      at_.push_back(source.on(axis));
      target_.push_back(target.on(axis));
    }
  }

  std::int64_t run() {
    const std::vector<AxisPlacement> source = at_;
    for (std::size_t axis = mesh_.size(); axis-- > 0;) {
      if (is_cut_anew(source, axis)) step(axis, AxisPlacement::replicate());
    }
    // What becomes smaller, what stays as large, and what is gathered.
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
      if (target_[axis].is_shard() && !at_[axis].is_shard()) step(axis, target_[axis]);
    }
    for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
      if (at_[axis].is_shard() == target_[axis].is_shard()) step(axis, target_[axis]);
    }
    for (std::size_t axis = mesh_.size(); axis-- > 0;)
      step(axis, target_[axis]);
    return peak_;
  }

 private:
  // An axis that keeps its dimension, but cuts it after another number of parts than before.
  bool is_cut_anew(const std::vector<AxisPlacement>& source, std::size_t axis) const {
    if (!source[axis].is_shard() || source[axis] != target_[axis]) return false;
    for (std::size_t outer = 0; outer < axis; ++outer) {
      if ((source[outer] == source[axis]) != (target_[outer] == source[axis])) return true;
    }
    return false;
  }

  // Allocates nothing: searches ask for every pair of placements.
  std::int64_t bytes() const {
    std::int64_t product = bytes_of(tensor_.type);
    for (std::size_t dim = 0; dim < tensor_.shape.size(); ++dim) {
      std::int64_t extent = tensor_.shape[dim];
      for (std::size_t axis = 0; axis < mesh_.size(); ++axis) {
        if (at_[axis].is_shard() && at_[axis].dim == dim)
          extent = (extent + mesh_[axis] - 1) / mesh_[axis];
      }
      product *= extent;
    }
    return product;
  }

  void step(std::size_t axis, const AxisPlacement& after) {
    const AxisPlacement before = std::exchange(at_[axis], after);
    if (before == after) return;
    const std::int64_t made = bytes();
    at_[axis] = before;
    const std::int64_t taken = bytes();
    std::int64_t buffers = made;
    if (before.is_shard() && after.is_shard() && backend_ == CollectiveBackend::kNccl) {
      const std::int64_t copies = (after.dim != 0 ? 1 : 0) + (before.dim != 0 ? 1 : 0);
      buffers = taken + copies * taken;
    } else if (before.is_shard()) {
      at_[axis] = AxisPlacement::replicate();
      const std::int64_t gathered = bytes();
      if (before.dim != 0) buffers += gathered;
      if (after.is_shard() && before.dim == 0) buffers = made + gathered;
      if (after.is_shard() && before.dim != 0) buffers = std::max(2 * gathered, gathered + made);
    } else if (before.is_partial() && after.is_shard() && after.dim != 0) {
      buffers += taken;
    }
    at_[axis] = after;
    peak_ = std::max(peak_, buffers + (is_first_ ? 0 : taken));
    is_first_ = false;
  }

  const AtenTensor& tensor_;
  const MeshShape& mesh_;
  const CollectiveBackend backend_;
  std::vector<AxisPlacement> at_;  // by axis
  std::vector<AxisPlacement> target_;
  bool is_first_ = true;  // the first step takes the tensor itself
  std::int64_t peak_ = 0;
};

}  // namespace

std::int64_t moving_bytes(const AtenTensor& tensor, const MeshShape& mesh, const Placement& source,
                          const Placement& target, CollectiveBackend backend) {
  return source == target ? 0 : Mover(tensor, mesh, source, target, backend).run();
}

}  // namespace shardwright::operators
