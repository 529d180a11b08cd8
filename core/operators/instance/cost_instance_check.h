// Checks the description of a cost instance.
#pragma once

#include <cstddef>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"

namespace shardwright::operators {

// Errors: as CostInstance::make.
Status check(const CostInstanceSpec& spec);

// The part of an interval during which there are limits.
LiveInterval limited(LiveInterval live, std::size_t num_limits);

}  // namespace shardwright::operators
