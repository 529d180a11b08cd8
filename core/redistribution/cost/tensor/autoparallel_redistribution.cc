#include "core/redistribution/cost/tensor/autoparallel_redistribution.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/check.h"
#include "core/redistribution/cost/tensor/memory_bandwidth.h"

namespace shardwright::redistribution {
namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

// The walk over the axes: what was paid, and what a device holds now.
class AxisWalk {
 public:
  AxisWalk(const CollectiveCosts& costs, double bytes, double memory_bytes_per_second)
      : costs_(costs), bytes_(bytes), memory_bytes_per_second_(memory_bytes_per_second) {}

  double paid_us() const { return paid_us_; }

  void copy(int times) {
    if (times == 0) return;
    paid_us_ += times * read_write_us(bytes_ * 2, memory_bytes_per_second_);
  }

  // Preconditions: the placements differ.
  void change(std::size_t axis, const AxisPlacement& source, const AxisPlacement& target) {
    const double devices = static_cast<double>(costs_.mesh()[axis]);
    if (source.is_shard() && target.is_replicate()) {
      bytes_ *= devices;
      collect(Collective::kAllGather, axis);
      copy(reorders(source));
    } else if (source.is_shard() && target.is_shard()) {
      collect(Collective::kAllToAll, axis);
      copy(reorders(source) + reorders(target));
    } else if (source.is_partial() && target.is_replicate()) {
      collect(Collective::kAllReduce, axis);
    } else if (source.is_partial() && target.is_shard()) {
      collect(Collective::kReduceScatter, axis);
      copy(reorders(target));
      bytes_ /= devices;
    } else if (!source.is_partial() && target.is_partial()) {
      paid_us_ = kForbidden;
    }
  }

 private:
  // Parts of the first dimension lie one after the other, so that joining or cutting them moves no
  // element.
  static int reorders(const AxisPlacement& placement) { return placement.dim != 0 ? 1 : 0; }

  void collect(Collective collective, std::size_t axis) {
    paid_us_ += costs_.microseconds(collective, axis, std::trunc(bytes_));
  }

  const CollectiveCosts& costs_;
  double bytes_;
  double memory_bytes_per_second_;
  double paid_us_ = 0;
};

std::vector<std::size_t> order_of_axes(const Redistribution& redistribution) {
  const std::vector<AxisPlacement>& source = redistribution.source();
  const std::vector<AxisPlacement>& target = redistribution.target();
  const bool sums = std::all_of(source.begin(), source.end(), [](const AxisPlacement& placement) {
    return placement == AxisPlacement::partial(ReduceOp::kSum);
  });
  const bool shards = std::all_of(target.begin(), target.end(), [](const AxisPlacement& placement) {
    return placement.is_shard();
  });
  if (source.size() == 2 && sums && shards) return {1, 0};
  std::vector<std::size_t> order(source.size());
  for (std::size_t axis = 0; axis < order.size(); ++axis)
    order[axis] = axis;
  return order;
}

}  // namespace

double autoparallel_redistribution_us(const Redistribution& redistribution,
                                      const CollectiveCosts& costs,
                                      double memory_bytes_per_second) {
  SHARDWRIGHT_CHECK(costs.mesh() == redistribution.mesh());
  const std::vector<AxisPlacement>& target = redistribution.target();
  if (redistribution.source_is_replicated()) {
    const bool has_partial =
        std::any_of(target.begin(), target.end(),
                    [](const AxisPlacement& placement) { return placement.is_partial(); });
    return has_partial ? kForbidden : 0;
  }
  AxisWalk walk(costs, redistribution.source_bytes_per_device(), memory_bytes_per_second);
  bool is_contiguous = redistribution.is_contiguous();
  for (const std::size_t axis : order_of_axes(redistribution)) {
    const AxisPlacement& source = redistribution.source()[axis];
    if (source == target[axis]) continue;
    if (!is_contiguous) walk.copy(1);
    walk.change(axis, source, target[axis]);
    is_contiguous = true;
  }
  return walk.paid_us();
}

}  // namespace shardwright::redistribution
