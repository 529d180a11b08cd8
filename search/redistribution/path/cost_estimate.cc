#include "search/redistribution/path/cost_estimate.h"

#include <algorithm>
#include <limits>

#include "core/redistribution/placement/shard_boxes.h"

namespace shardwright::redistribution {
namespace {

using Kind = Move::Kind;

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
// Sums are rounded; a little less is a bound all the same.
constexpr double kBelow = 1 - 1e-12;

Move along(Kind kind, const Axes& axes) {
  Move move;
  move.kind = kind;
  move.axes = axes;
  return move;
}
Move along(Kind kind, std::size_t axis) {
  return along(kind, Axes(1, static_cast<std::uint8_t>(axis)));
}

// `held`, `parts`: after the gather.
double gather_cost(const StepCosts& costs, const Move& gather, std::int64_t devices,
                   std::int64_t held, std::int64_t parts) {
  return costs.cost({gather, held / devices, held, parts * devices});
}

}  // namespace

CostEstimate::CostEstimate(const TensorOnMesh& tensor, const StepCosts& costs,
                           const Placement& target, bool groups)
    : tensor_(tensor), target_(target), groups_(groups) {
  for (std::size_t axis = 0; axis < tensor.mesh.size(); ++axis) {
    num_shards_ += target.is_shard(axis) ? 1U : 0U;
    num_partial_ += target.is_partial(axis) ? 1U : 0U;
  }
  if (groups) {
    fill_joint(costs);
  } else {
    fill_gathers(costs);
    fill_others(costs);
  }
}

void CostEstimate::fill_gathers(const StepCosts& costs) {
  const MeshShape& mesh = tensor_.mesh;
  const std::int64_t all = num_devices(mesh);
  std::int64_t largest_axis = 1;
  std::int64_t parts = 1;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    largest_axis = std::max(largest_axis, mesh[axis]);
    parts *= target_.is_shard(axis) ? mesh[axis] : 1;
  }
  std::int64_t held = largest_box(tensor_.shape, mesh, target_);
  for (std::size_t count = 1; count <= mesh.size(); ++count) {
    double least = kUnbounded;
    for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
      least = std::min(least, gather_cost(costs, along(Kind::kAllGather, axis), mesh[axis], held,
                                          parts));
    }
    gathers_[count] = gathers_[count - 1] + least * kBelow;
    held /= largest_axis;
    parts = std::min(parts * largest_axis, all);
  }
}

void CostEstimate::fill_others(const StepCosts& costs) {
  MeshShape sizes = tensor_.mesh;
  std::sort(sizes.begin(), sizes.end());
  std::int64_t parts = num_devices(sizes);
  const std::int64_t elements = num_elements(tensor_.shape);
  for (std::size_t replicated = 0; replicated < sizes.size(); ++replicated) {
    for (std::size_t axis = 0; axis < sizes.size(); ++axis) {
      const std::int64_t size = tensor_.mesh[axis];
      const std::int64_t held = elements / parts;
      double least = gather_cost(costs, along(Kind::kAllGather, axis), size, held * size,
                                 std::max<std::int64_t>(parts / size, 1));
      for (const Kind kind : {Kind::kAllToAll, Kind::kAllReduce, Kind::kReduceScatter})
        least = std::min(least, costs.cost({along(kind, axis), held, held, parts}));
      others_[replicated][axis] = least * kBelow;
    }
    parts /= sizes[replicated];
  }
}

void CostEstimate::fill_joint(const StepCosts& costs) {
  std::int64_t parts = 1;
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis)
    parts *= target_.is_shard(axis) ? tensor_.mesh[axis] : 1;
  const std::int64_t held = largest_box(tensor_.shape, tensor_.mesh, target_);
  const std::int64_t all = num_devices(tensor_.mesh);
  const std::int64_t fewest = num_elements(tensor_.shape) / all;
  double gather = kUnbounded;
  joint_reduction_ = kUnbounded;
  for (std::uint32_t set = 1; set < std::uint32_t{1} << tensor_.mesh.size(); ++set) {
    Axes axes;
    for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
      if ((set >> axis & 1) != 0) axes.push_back(static_cast<std::uint8_t>(axis));
    }
    const std::int64_t devices = devices_along(tensor_.mesh, axes);
    gather = std::min(gather,
                      gather_cost(costs, along(Kind::kAllGather, axes), devices, held, parts));
    for (const Kind kind : {Kind::kAllReduce, Kind::kReduceScatter}) {
      joint_reduction_ =
          std::min(joint_reduction_, costs.cost({along(kind, axes), fewest, fewest, all}));
    }
  }
  gathers_.fill(gather * kBelow);
  joint_reduction_ *= kBelow;
}

double CostEstimate::left(const Placement& at) const {
  if (groups_) return left_in_groups(at);
  std::size_t gathers = 0;
  std::size_t replicated = 0;  // here and in the target
  std::array<std::uint8_t, kMaxMeshAxes> others{};
  std::size_t num_others = 0;
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
    if (at.is_replicate_or_as_in(target_, axis)) {
      replicated += at.is_replicate(axis) && target_.is_replicate(axis) ? 1U : 0U;
    } else if (at.is_shard(axis) && target_.is_replicate(axis)) {
      ++gathers;
    } else {
      others[num_others++] = static_cast<std::uint8_t>(axis);
    }
  }
  if (num_others == 0) return gathers_[gathers];
  double least = kUnbounded;
  for (std::size_t detours = 0; detours <= replicated; ++detours) {
    double sum = gathers_[gathers + detours];
    for (std::size_t i = 0; i < num_others; ++i)
      sum += others_[replicated - detours][others[i]];
    least = std::min(least, sum);
  }
  return least;
}

double CostEstimate::left_in_groups(const Placement& at) const {
  std::size_t shards = 0;
  std::size_t partial = 0;
  for (std::size_t axis = 0; axis < tensor_.mesh.size(); ++axis) {
    shards += at.is_shard(axis) ? 1U : 0U;
    partial += at.is_partial(axis) ? 1U : 0U;
  }
  return (shards > num_shards_ ? gathers_[1] : 0) + (partial > num_partial_ ? joint_reduction_ : 0);
}

}  // namespace shardwright::redistribution
