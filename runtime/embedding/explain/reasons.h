// Why the chosen option of a table won, in words.
#pragma once

#include <string>
#include <vector>

#include "runtime/embedding/explain/explain.h"

namespace shardwright {

// "table_wise.fused", with the share of a cache.
std::string option_name(const embedding::ShardingOption& option);

// "equal rating", "0.35 ms worse on rank 5 (bwd_comms +0.3 ms)".
std::string change_text(const embedding::Problem& problem, const embedding::OptionCost& cost);

// "rank 3 lacks 1.2 GiB HBM (1288490189 bytes)".
std::string lack_text(const embedding::MemoryLack& lack);

// Compares the chosen option with the next best ones, then names cheaper options with what excludes
// them; at most three of each. Precondition: the options are in order, the chosen one first.
std::vector<std::string> reasons_for(const embedding::Problem& problem,
                                     const TableExplanation& table);

}  // namespace shardwright
