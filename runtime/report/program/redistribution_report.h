// Text reports of redistributions.
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

// Lists the steps with time and memory of a device after each, then a sentence on optimality.
// `options` tells which kinds of steps the proof of optimality covers.
std::string redistribution_text(const RedistributionCase& request,
                                const RedistributionOptions& options,
                                const PlannedRedistribution& answer, std::size_t width);

// Returns redistribution_text() of the first path, then a row per path. Precondition: `front` is
// not empty.
std::string redistribution_front_text(const RedistributionCase& request,
                                      const RedistributionOptions& options,
                                      std::span<const PlannedRedistribution> front,
                                      std::size_t width);

}  // namespace shardwright
