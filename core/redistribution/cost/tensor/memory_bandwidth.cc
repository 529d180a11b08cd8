#include "core/redistribution/cost/tensor/memory_bandwidth.h"

#include <algorithm>
#include <array>

#include "core/units.h"

namespace shardwright::redistribution {
namespace {

constexpr auto kGib = static_cast<double>(kGibibyte);
constexpr double kTib = 1024 * kGib;

constexpr double kEfficiency = 0.70;
constexpr double kLaunchUs = 7;  // of a kernel
constexpr double kUsPerSecond = 1e6;

struct DeviceMemory {
  std::string_view part;  // of the device's name
  double bytes_per_second;
};

// In the order in which AutoParallel looks. PG509 is an A100 under its board's name.
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

}  // namespace shardwright::redistribution
