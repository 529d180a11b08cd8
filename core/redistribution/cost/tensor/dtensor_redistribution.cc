#include "core/redistribution/cost/tensor/dtensor_redistribution.h"

#include <limits>
#include <utility>
#include <vector>

#include "core/check.h"

namespace shardwright::redistribution {
namespace {

using Placements = std::vector<AxisPlacement>;

// Whether the same axes before `axis` shard dimension `dim` in both.
bool is_aligned_before(std::size_t axis, std::size_t dim, const Placements& a,
                       const Placements& b) {
  const AxisPlacement shard = AxisPlacement::shard(dim);
  for (std::size_t before = 0; before < axis; ++before) {
    if ((a[before] == shard) != (b[before] == shard)) return false;
  }
  return true;
}

bool has_several_shards(const MeshShape& mesh, const Placements& placements) {
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (placements[axis].is_shard() && mesh[axis] > 1) return true;
  }
  return false;
}

// The state between steps, and what they cost so far.
class StepWalk {
 public:
  StepWalk(const CollectiveCosts& costs, Placements placements, double bytes)
      : costs_(costs), placements_(std::move(placements)), bytes_(bytes) {}

  const Placements& placements() const { return placements_; }
  double paid_us() const { return paid_us_; }

  void change(std::size_t axis, const AxisPlacement& target) {
    if (placements_[axis] == target) return;
    const DTensorStep step = dtensor_step(costs_, axis, placements_[axis], target, bytes_);
    paid_us_ += step.microseconds;
    bytes_ = step.bytes;
    placements_[axis] = target;
  }

 private:
  const CollectiveCosts& costs_;
  Placements placements_;
  double bytes_;
  double paid_us_ = 0;
};

void change_inner_first(const Placements& target, StepWalk& walk) {
  for (std::size_t axis = target.size(); axis-- > 0;) {
    const bool keeps_nesting = !target[axis].is_shard() ||
                               is_aligned_before(axis, target[axis].dim, walk.placements(), target);
    walk.change(axis, keeps_nesting ? target[axis] : AxisPlacement::replicate());
  }
}

}  // namespace

DTensorStep dtensor_step(const CollectiveCosts& costs, std::size_t axis,
                         const AxisPlacement& source, const AxisPlacement& target, double bytes) {
  const double devices = static_cast<double>(costs.mesh()[axis]);
  if (source == target) return {0, bytes};
  if (source.is_shard() && target.is_replicate()) {
    const double gathered = bytes * devices;
    return {costs.microseconds(Collective::kAllGather, axis, gathered), gathered};
  }
  if (source.is_shard() && target.is_shard()) {
    return {costs.microseconds(Collective::kAllToAll, axis, bytes), bytes};
  }
  if (source.is_partial() && target.is_replicate()) {
    return {costs.microseconds(Collective::kAllReduce, axis, bytes), bytes};
  }
  if (source.is_partial() && target.is_shard()) {
    return {costs.microseconds(Collective::kReduceScatter, axis, bytes), bytes / devices};
  }
  if (source.is_replicate()) return {0, target.is_shard() ? bytes / devices : bytes};
  return {std::numeric_limits<double>::infinity(), bytes};
}

double dtensor_redistribution_us(const Redistribution& redistribution,
                                 const CollectiveCosts& costs) {
  SHARDWRIGHT_CHECK(costs.mesh() == redistribution.mesh());
  if (redistribution.source_is_replicated()) return 0;
  const Placements& target = redistribution.target();
  StepWalk walk(costs, redistribution.source(), redistribution.source_bytes_per_device());
  // A mesh of one axis has no nested shards, and needs one step.
  if (has_several_shards(redistribution.mesh(), redistribution.source())) {
    change_inner_first(target, walk);
  }
  for (std::size_t axis = 0; axis < target.size(); ++axis)
    walk.change(axis, target[axis]);
  return walk.paid_us();
}

}  // namespace shardwright::redistribution
