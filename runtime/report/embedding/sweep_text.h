// Sweeps as text.
#pragma once

#include <cstddef>
#include <string>

#include "runtime/embedding/sweep_points.h"

namespace shardwright {

// Lists a row per machine, then the smallest machines.
std::string sweep_report(const SweepAnswer& sweep, std::size_t width);

}  // namespace shardwright
