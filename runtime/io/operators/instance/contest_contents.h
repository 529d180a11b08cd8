// The raw contents of a file in the IOPDDL contest's format. Nodes and edges are not yet checked
// against each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

}  // namespace shardwright
