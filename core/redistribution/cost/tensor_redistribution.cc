#include "core/redistribution/cost/tensor_redistribution.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/numeric/exact_mean.h"
#include "core/units.h"

namespace shardwright::redistribution {
namespace {

constexpr auto kGib = static_cast<double>(kGibibyte);
constexpr double kTib = 1024 * kGib;

constexpr double kEfficiency = 0.70;
constexpr double kLaunchUs = 7;  // minimum time of a kernel
constexpr double kUsPerSecond = 1e6;

struct DeviceMemory {
  std::string_view part;  // of the device's name
  double bytes_per_second;
};

// In the order in which AutoParallel searches. PG509 is the board name of an A100.
constexpr std::array<DeviceMemory, 15> kDevices = {{
    {"H100", 3.35 * kTib},
    {"B200", 7.7 * kTib},
    {"A100", 2 * kTib},
    {"PG509", 2 * kTib},
    {"A30", 933 * kGib},
    {"A10G", 933 * kGib},
    {"T4", 300 * kGib},
    {"V100", 900 * kGib},
    {"P100", 732 * kGib},
    {"AMD Instinct MI200X", 1.6 * kTib},
    {"AMD Instinct MI300X", 5.3 * kTib},
    {"AMD Instinct MI325X", 6.0 * kTib},
    {"AMD Instinct MI350X", 8.0 * kTib},
    {"AMD Instinct MI355X", 8.0 * kTib},
    {"Max 1550", 3.3 * kTib},
}};

}  // namespace

std::optional<double> memory_bytes_per_second(std::string_view device_name) {
  for (const DeviceMemory& device : kDevices) {
    if (device_name.find(device.part) != std::string_view::npos) return device.bytes_per_second;
  }
  return std::nullopt;
}

double read_write_us(double bytes, double bytes_per_second) {
  return std::max(bytes / bytes_per_second * kUsPerSecond / kEfficiency, kLaunchUs);
}

namespace {

constexpr std::int64_t kMaxBytes = (std::int64_t{1} << 62) - 1;

std::string at(const char* list, std::size_t index) {
  return "/" + std::string(list) + "/" + std::to_string(index);
}

// A dimension without elements counts as 1, so that strides stay below the limit, too.
Status check_shape(const RedistributionSpec& spec) {
  if (spec.itemsize < 1) return invalid_input("/itemsize", "must be at least 1");
  std::int64_t bytes = spec.itemsize;
  for (std::size_t dim = 0; dim < spec.shape.size(); ++dim) {
    if (spec.shape[dim] < 0) return invalid_input(at("shape", dim), "must not be negative");
    const std::int64_t size = std::max<std::int64_t>(spec.shape[dim], 1);
    if (bytes > kMaxBytes / size) {
      return invalid_input("/shape", "the tensor has 2^62 bytes or more");
    }
    bytes *= size;
  }
  if (!spec.strides.empty() && spec.strides.size() != spec.shape.size()) {
    return invalid_input("/strides", std::to_string(spec.strides.size()) + " strides for " +
                                         std::to_string(spec.shape.size()) + " dimensions");
  }
  return {};
}

Status check_placements(const RedistributionSpec& spec, const char* name,
                        const std::vector<AxisPlacement>& placements) {
  if (placements.size() != spec.mesh.size()) {
    return invalid_input("/" + std::string(name), std::to_string(placements.size()) +
                                                      " placements for a mesh of " +
                                                      std::to_string(spec.mesh.size()) + " axes");
  }
  for (std::size_t axis = 0; axis < placements.size(); ++axis) {
    if (placements[axis].is_shard() && placements[axis].dim >= spec.shape.size()) {
      return invalid_input(at(name, axis),
                           "the tensor has no dimension " + std::to_string(placements[axis].dim));
    }
  }
  return {};
}

bool is_contiguous(const RedistributionSpec& spec) {
  if (spec.strides.empty()) return true;
  // torch accepts two strides if a dimension has no elements: it counts as 0 or as 1.
  std::int64_t expected = 1;
  std::int64_t expected_nonempty = 1;
  for (std::size_t dim = spec.shape.size(); dim-- > 0;) {
    const std::int64_t size = spec.shape[dim];
    if (size == 1) continue;
    const std::int64_t stride = spec.strides[dim];
    if (stride != expected && stride != expected_nonempty) return false;
    expected_nonempty *= std::max<std::int64_t>(size, 1);
    expected *= size;
  }
  return true;
}

std::int64_t bytes_of(const RedistributionSpec& spec) {
  std::int64_t bytes = spec.itemsize;
  for (const std::int64_t size : spec.shape)
    bytes *= size;
  return bytes;
}

// Resets members that the kind does not use, since callers may leave any values there.
void normalize(std::vector<AxisPlacement>& placements) {
  for (AxisPlacement& placement : placements) {
    if (!placement.is_shard()) placement.dim = 0;
    if (!placement.is_partial()) placement.reduce_op = ReduceOp::kSum;
  }
}

}  // namespace

double bytes_per_device(std::int64_t bytes, const MeshShape& mesh,
                        const std::vector<AxisPlacement>& placements) {
  std::uint64_t parts = 1;
  for (std::size_t axis = 0; axis < mesh.size(); ++axis) {
    if (placements[axis].is_shard()) parts *= static_cast<std::uint64_t>(mesh[axis]);
  }
  return true_divide(static_cast<std::uint64_t>(bytes), parts);
}

Redistribution::Redistribution(RedistributionSpec spec)
    : spec_(std::move(spec)),
      is_contiguous_(redistribution::is_contiguous(spec_)),
      source_bytes_per_device_(bytes_per_device(bytes_of(spec_), spec_.mesh, spec_.source)) {}

Result<Redistribution> Redistribution::make(RedistributionSpec spec) {
  SHARDWRIGHT_RETURN_IF_ERROR(check_mesh(spec.mesh));
  SHARDWRIGHT_RETURN_IF_ERROR(check_shape(spec));
  SHARDWRIGHT_RETURN_IF_ERROR(check_placements(spec, "source", spec.source));
  SHARDWRIGHT_RETURN_IF_ERROR(check_placements(spec, "target", spec.target));
  normalize(spec.source);
  normalize(spec.target);
  return Redistribution(std::move(spec));
}

bool Redistribution::source_is_replicated() const {
  return std::all_of(spec_.source.begin(), spec_.source.end(),
                     [](const AxisPlacement& placement) { return placement.is_replicate(); });
}

namespace {

constexpr double kForbidden = std::numeric_limits<double>::infinity();

// The state of AutoParallel's pass over the axes: the time so far, and the bytes per device.
class AxisWalk {
 public:
  AxisWalk(const CollectiveCosts& costs, double bytes, double memory_bytes_per_second)
      : costs_(costs), bytes_(bytes), memory_bytes_per_second_(memory_bytes_per_second) {}

  double paid_us() const { return paid_us_; }

  void copy(int times) {
    if (times == 0) return;
    paid_us_ += times * read_write_us(bytes_ * 2, memory_bytes_per_second_);
  }

  // Precondition: the placements differ.
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
  // Parts of the first dimension are contiguous, so joining or cutting them copies no element.
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

namespace {

using Placements = std::vector<AxisPlacement>;

// Returns true if, in both placements, the same axes before `axis` shard dimension `dim`.
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

// The state of DTensor's passes over the axes: placements, bytes per device, and the time so far.
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
  // As in torch, the first pass runs only if the source has several shards.
  if (has_several_shards(redistribution.mesh(), redistribution.source())) {
    change_inner_first(target, walk);
  }
  for (std::size_t axis = 0; axis < target.size(); ++axis)
    walk.change(axis, target[axis]);
  return walk.paid_us();
}

}  // namespace shardwright::redistribution
