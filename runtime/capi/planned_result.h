// Results as a handle holds them.
#pragma once

#include <memory>

#include "runtime/capi/objects.h"

namespace shardwright::capi {

// Numbers the options of the result's plan. O(options of the plan).
std::shared_ptr<const PlannedResult> number_options(
    std::shared_ptr<const embedding::Problem> problem, EmbeddingPlanResult result);

}  // namespace shardwright::capi
