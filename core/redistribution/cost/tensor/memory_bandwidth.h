// How fast devices read and write their memory.
#pragma once

#include <optional>
#include <string_view>

namespace shardwright::redistribution {

// Bytes per second of the device with this name, such as "NVIDIA H100 80GB HBM3". None if
// AutoParallel does not know it.
// Source: DEVICE_LIMITS in AutoParallel's (meta-pytorch/autoparallel, a54c2529)
// autoparallel/cost_models/compute_estimation.py, from the vendors' data sheets; it takes a TB
// there as 2^40 bytes, a GB as 2^30.
std::optional<double> memory_bytes_per_second(std::string_view device_name);

// The time in microseconds of a kernel that reads and writes `bytes` in all, at 70 % of the
// bandwidth and at least 7. Source: compute_read_write_time, in the same file.
double read_write_us(double bytes, double bytes_per_second);

}  // namespace shardwright::redistribution
