// Checks of the three kinds of leaves. Each function returns what is wrong, or nullopt.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/open_options.h"
#include "core/embedding/bound/rank_pricing.h"

namespace shardwright::embedding {

// Checks that all tables, each with its cheapest open option at the leaf's multipliers, cost more
// than the capacity of all ranks. O(open options x classes).
std::optional<std::string> check_lagrangian_leaf(const OpenOptions& options, const BoundNode& leaf);

// Checks that all tables, each with its open option of least dual value, are worth more than the
// patterns of all ranks. RankPricing checks the leaf's maximum pattern value for every class.
// Subtracts its steps from `limit`.
std::optional<std::string> check_pattern_leaf(const OpenOptions& options, const BoundNode& leaf,
                                              StepLimit& limit);

// Tries all plans of the node again. Subtracts the steps taken from `most_steps`, their limit.
std::optional<std::string> check_search_leaf(const OpenOptions& options, const BoundNode& leaf,
                                             double target, std::uint64_t& most_steps,
                                             const std::function<bool()>& is_stopped);

}  // namespace shardwright::embedding
