// The raw contents of a file in the IOPDDL contest's format. Nodes and edges are not yet checked
// against each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "core/status.h"
#include "runtime/io/json/number_lists.h"

namespace shardwright {

// Thread safety: a value.
struct ContestContents {
  std::string name;
  NumberLists<std::int64_t> intervals;
  NumberLists<double> costs;
  NumberLists<std::int64_t> usages;
  NumberLists<std::int64_t> edge_nodes;
  DistinctLists edge_costs;
  std::vector<std::uint32_t> edge_list;  // by edge: the number of its list in edge_costs
  std::optional<std::int64_t> usage_limit;
};

// Reads the text in one pass. Errors: kInvalidInput with a JSON pointer, or with line and column if
// the text is not valid JSON.
Result<ContestContents> read_contest_contents(std::string_view text);

// Costs of 10^18 and above become kForbidden. Intervals are compressed to the time points at which
// usage can be highest. If neither `budget` nor the file gives a limit, usages are dropped. Usage
// above the limit becomes limit + 1. Edges with equal costs share a matrix. An edge of more than
// two nodes is supported if at most two of them have more than one strategy.
// Errors: kInvalidInput; kUnsupported for other edges. O(size of text), plus sorting the intervals.
Result<operators::CostInstance> read_contest_instance(
    std::string_view text, std::optional<std::int64_t> budget = std::nullopt);

}  // namespace shardwright
