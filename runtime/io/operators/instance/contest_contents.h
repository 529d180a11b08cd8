// What a file in the contest form holds, before nodes and edges are looked at together.
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
  std::vector<std::uint32_t> edge_list;  // by edge, into edge_costs
  std::optional<std::int64_t> usage_limit;
};

// Reads the text in one pass. Errors: kInvalidInput with a JSON pointer, or with line and column
// where the text is no JSON.
Result<ContestContents> read_contest_contents(std::string_view text);

}  // namespace shardwright
