// The contents of a file in the format of the IOPDDL contest, before nodes and edges are checked
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
  std::vector<std::uint32_t> edge_list;  // index into edge_costs, by edge
  std::optional<std::int64_t> usage_limit;
};

// Reads the text in one pass. Errors: kInvalidInput with a JSON pointer; line and column for
// invalid JSON.
Result<ContestContents> read_contest_contents(std::string_view text);

// Costs of at least 10^18 become kForbidden. Intervals are compressed to the time points at which
// memory usage can be highest. If neither `budget` nor the file has a limit, usages are dropped;
// usages above the limit become limit + 1. Edges with equal costs share a matrix. An edge may join
// more than two nodes if at most two of them have several strategies. Errors: kInvalidInput;
// kUnsupported for other edges. Cost: O(size of text), plus sorting the intervals.
Result<operators::CostInstance> read_contest_instance(
    std::string_view text, std::optional<std::int64_t> budget = std::nullopt);

}  // namespace shardwright
