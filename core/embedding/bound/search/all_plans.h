// Tries all plans below a target, to check the claim that there is none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/bound/search/shard_prices.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// Returns why it is not shown that no plan rates below `target`: because a plan was found, or
// because the search took `work_limit` steps. Nothing if there is none. All placement rules count.
//
// Depth-first, table by table, the one with the fewest places next. A branch ends if a table has no
// place left, or if at one set of prices the remaining tables, each with its cheapest choice and
// ranks, cost more than what the ranks that can take a shard have left is worth. That holds for any
// prices that are not negative; good ones end branches early. Loads of ranks are sums in floating
// point, so the target must lie above the claimed bound by kRatingSlack.
//
// Time: exponential in the worst case; `work_limit` counts looks at a rank and is reduced by them.
std::optional<std::string> find_plan_below(const SearchSpace& space, const Topology& available,
                                           double target, std::vector<RankPriceSet> prices,
                                           std::uint64_t& work_limit);

}  // namespace shardwright::embedding
