// A redistribution as text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/redistribution/placement/move.h"
#include "core/redistribution/placement/placement.h"
#include "runtime/redistribution/plan_redistribution.h"

namespace shardwright {

// The steps with their time, what a device holds after each, and a sentence on optimality.
// `options` tells which kinds of steps the proof of optimality covers.
std::string redistribution_text(const RedistributionCase& request,
                                const RedistributionOptions& options,
                                const PlannedRedistribution& answer, std::size_t width);

// redistribution_text() of the first path, and a row for each. Precondition: at least one path.
std::string redistribution_front_text(const RedistributionCase& request,
                                      const RedistributionOptions& options,
                                      std::span<const PlannedRedistribution> front,
                                      std::size_t width);

}  // namespace shardwright
