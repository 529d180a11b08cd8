// Choices of all tables that an allocation below a target rating may consist of.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/parameters/construct_parameters.h"
#include "search/embedding/model/context/search_context.h"

namespace shardwright::embedding {

// The cheapest choices at `price_factor` times the prices of memory that make them just fit.
// Choices on all ranks take load and memory from every rank, and every shard of another table must
// still find a rank beside them, so tables are chosen again until both agree. Returns nothing if
// they do not agree in the end, or if the choices carry more load than all ranks have below the
// target: such an allocation is then unlikely. Time: O(choices) for about a hundred prices, a few
// times over. Returns nothing if the budget (may be null) is interrupted.
std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor,
                                                        const ConstructParameters& parameters = {},
                                                        const Budget* budget = nullptr);

}  // namespace shardwright::embedding
