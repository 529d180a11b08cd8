// Choices of all tables that an allocation below a target rating may be made of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/embedding/model/context/search_context.h"

namespace shardwright::embedding {

// The cheapest choices at prices of memory that make them just fit, times `price_factor`. What is
// on all ranks takes load and memory from every one of them, and every shard of another table must
// still find a rank beside it: choices are made again until that holds. Nothing where it comes to
// no such choices, or to more load than all ranks have below the target: there is hardly such an
// allocation. Cost: O(choices) for about a hundred prices, a few times over.
std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor);

}  // namespace shardwright::embedding
