// Reads cost instances in the IOPDDL contest's format.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"

namespace shardwright {

// Costs of 10^18 and above become kForbidden. Intervals are compressed to the time points at which
// usage can be highest. If neither `budget` nor the file gives a limit, usages are dropped. Usage
// above the limit becomes limit + 1. Edges with equal costs share a matrix. An edge of more than
// two nodes is supported if at most two of them have more than one strategy.
// Errors: kInvalidInput; kUnsupported for other edges. O(size of text), plus sorting the intervals.
Result<operators::CostInstance> read_contest_instance(
    std::string_view text, std::optional<std::int64_t> budget = std::nullopt);

}  // namespace shardwright
