#include "core/redistribution/cost/nccl_tables.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace shardwright::redistribution {
namespace {

constexpr std::int64_t kMaxCount = std::int64_t{1} << 20;

bool is_count(std::int64_t value) { return value >= 1 && value <= kMaxCount; }
bool is_positive(double value) { return std::isfinite(value) && value > 0; }

NcclConfig config_of(GpuArchitecture architecture, std::int64_t gpus_per_node, double bw_intra,
                     double bw_inter) {
  NcclConfig config;
  config.architecture = architecture;
  config.gpus_per_node = gpus_per_node;
  config.bw_intra_gb_per_s = bw_intra;
  config.bw_inter_gb_per_s = bw_inter;
  config.has_nvswitch = architecture != GpuArchitecture::kAmpere;
  return config;
}

// Returns the number of ranks along one axis that share a node.
std::int64_t ranks_on_node(const NcclConfig& config, const MeshShape& mesh, std::size_t axis) {
  return std::max<std::int64_t>(1, std::min(config.gpus_per_node / stride(mesh, axis), mesh[axis]));
}

NcclAxis spread(const NcclConfig& config, std::int64_t ranks, std::int64_t ranks_per_node) {
  const int channels = config.channels != 0
                           ? config.channels
                           : nccl::kDefaultChannels[nccl::index_of(config.architecture)];
  return {ranks,
          ranks / ranks_per_node,
          ranks_per_node,
          channels,
          config.bw_intra_gb_per_s / channels,
          config.bw_inter_gb_per_s / channels};
}

struct KnownDevice {
  std::string_view part;  // of the device's name
  NcclConfig config;
};

// GB200 comes first, because its name contains B200.
std::array<KnownDevice, 5> known_devices() {
  return {{{"GB200", gb200_nccl_config()},
           {"B200", gb200_nccl_config()},
           {"H200", h100_nccl_config()},
           {"H100", h100_nccl_config()},
           {"A100", a100_nccl_config()}}};
}

}  // namespace

NcclConfig a100_nccl_config(std::int64_t gpus_per_node) {
  return config_of(GpuArchitecture::kAmpere, gpus_per_node, 87.7, 25.0);
}

NcclConfig h100_nccl_config(std::int64_t gpus_per_node) {
  return config_of(GpuArchitecture::kHopper, gpus_per_node, 320.0, 50.0);
}

NcclConfig gb200_nccl_config(std::int64_t gpus_per_node) {
  return config_of(GpuArchitecture::kBlackwell, gpus_per_node, 640.0, 50.0);
}

std::optional<NcclConfig> find_nccl_config(std::string_view device_name, const MeshShape& mesh) {
  std::int64_t devices = 1;
  for (const std::int64_t size : mesh)
    devices *= size;
  for (const KnownDevice& device : known_devices()) {
    if (device_name.find(device.part) == std::string_view::npos) continue;
    if (devices % device.config.gpus_per_node != 0) return std::nullopt;
    return device.config;
  }
  return std::nullopt;
}

Status check_nccl_config(const NcclConfig& config) {
  if (!is_count(config.gpus_per_node)) {
    return invalid_input("/gpus_per_node", "must be in 1..2^20");
  }
  if (config.channels != 0 && !is_count(config.channels)) {
    return invalid_input("/channels", "must be in 0..2^20");
  }
  if (!is_positive(config.bw_intra_gb_per_s)) {
    return invalid_input("/bw_intra_gb_per_s", "must be a finite number above 0");
  }
  if (!is_positive(config.bw_inter_gb_per_s)) {
    return invalid_input("/bw_inter_gb_per_s", "must be a finite number above 0");
  }
  if (!std::isfinite(config.net_latency_us) || config.net_latency_us < 0) {
    return invalid_input("/net_latency_us", "must be a finite number that is not negative");
  }
  return {};
}

NcclAxis nccl_axis(const NcclConfig& config, const MeshShape& mesh, std::size_t axis) {
  return spread(config, mesh[axis], ranks_on_node(config, mesh, axis));
}

NcclAxis nccl_group(const NcclConfig& config, const MeshShape& mesh, const Axes& axes) {
  std::int64_t ranks_per_node = 1;
  for (const std::uint8_t axis : axes)
    ranks_per_node *= ranks_on_node(config, mesh, axis);
  return spread(config, devices_along(mesh, axes), ranks_per_node);
}

}  // namespace shardwright::redistribution

namespace shardwright::redistribution::nccl {

double interpolated(const SizeTable& table, std::int64_t bytes) {
  const std::int64_t units = bytes >> 6;
  if (units <= 0) return table.front();
  const double position = std::log2(static_cast<double>(units));
  const std::size_t below = static_cast<std::size_t>(position);
  if (below + 1 >= table.size()) return table.back();
  const double fraction = position - static_cast<double>(below);
  return table[below] * (1 - fraction) + table[below + 1] * fraction;
}

double interpolated(std::span<const Point> points, std::int64_t x) {
  if (x <= points.front().x) return points.front().y;
  for (std::size_t i = 1; i < points.size(); ++i) {
    const Point& low = points[i - 1];
    const Point& high = points[i];
    if (x > high.x) continue;
    const double fraction = static_cast<double>(x - low.x) / static_cast<double>(high.x - low.x);
    return low.y + fraction * (high.y - low.y);
  }
  return points.back().y;
}

}  // namespace shardwright::redistribution::nccl

namespace shardwright::redistribution {}  // namespace shardwright::redistribution
