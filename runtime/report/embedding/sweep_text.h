// Sweeps as text.
#pragma once

#include <cstddef>
#include <string>

#include "core/embedding/problem/problem.h"
#include "runtime/embedding/sweep.h"

namespace shardwright {

// A row per machine, then the smallest machines.
std::string sweep_report(const embedding::ProblemSpec& problem, const Sweep& sweep,
                         std::size_t width);

}  // namespace shardwright
