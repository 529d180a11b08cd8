// Reads the contest form of cost instances.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"

namespace shardwright {

// Costs of 10^18 and above are kForbidden. Intervals are compressed to the time points that matter;
// there is no limit where neither `budget` nor the file gives one, and then no usage either. Usage
// above the limit is cut to just above it. Edges of equal content share a matrix. An edge over more
// than two nodes is read where at most two of them have more than one strategy.
// Errors: kInvalidInput; kUnsupported for other edges. O(size of text), plus sorting of intervals.
Result<operators::CostInstance> read_contest_instance(
    std::string_view text, std::optional<std::int64_t> budget = std::nullopt);

}  // namespace shardwright
