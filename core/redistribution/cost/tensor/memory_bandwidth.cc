#include "core/redistribution/cost/tensor/memory_bandwidth.h"

#include <algorithm>
#include <array>

namespace shardwright::redistribution {
namespace {

constexpr double kTebibyte = 1024.0 * 1024.0 * 1024.0 * 1024.0;
constexpr double kGibibyteBytes = 1024.0 * 1024.0 * 1024.0;

constexpr double kEfficiency = 0.70;
constexpr double kLaunchUs = 7;  // of a kernel
constexpr double kUsPerSecond = 1e6;

struct DeviceMemory {
  std::string_view part;  // of the device's name
  double bytes_per_second;
};

// In the order in which AutoParallel looks. PG509 is an A100 under its board's name.
constexpr std::array<DeviceMemory, 15> kDevices = {{
    {"H100", 3.35 * kTebibyte},
    {"B200", 7.7 * kTebibyte},
    {"A100", 2 * kTebibyte},
    {"PG509", 2 * kTebibyte},
    {"A30", 933 * kGibibyteBytes},
    {"A10G", 933 * kGibibyteBytes},
    {"T4", 300 * kGibibyteBytes},
    {"V100", 900 * kGibibyteBytes},
    {"P100", 732 * kGibibyteBytes},
    {"AMD Instinct MI200X", 1.6 * kTebibyte},
    {"AMD Instinct MI300X", 5.3 * kTebibyte},
    {"AMD Instinct MI325X", 6.0 * kTebibyte},
    {"AMD Instinct MI350X", 8.0 * kTebibyte},
    {"AMD Instinct MI355X", 8.0 * kTebibyte},
    {"Max 1550", 3.3 * kTebibyte},
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
