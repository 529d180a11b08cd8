// The three kinds of leaves of a certificate. Each check returns what is wrong, or nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/open_options.h"
#include "core/embedding/bound/rank_pricing.h"

namespace shardwright::embedding {

// All open tables, each with its cheapest option at the leaf's multipliers, must need more than all
// ranks have. O(open options x classes).
std::optional<std::string> check_lagrangian_leaf(const OpenOptions& options, const BoundNode& leaf);

// All open tables, each with its option of least dual value, must be worth more than what the leaf
// claims that all ranks can hold; the claim of every class is checked by RankPricing. Takes its
// steps from the limit.
std::optional<std::string> check_pattern_leaf(const OpenOptions& options, const BoundNode& leaf,
                                              StepLimit& limit);

// Tries all plans of the node again, in at most so many steps, and takes these from
// `most_steps`.
std::optional<std::string> check_search_leaf(const OpenOptions& options, const BoundNode& leaf,
                                             double target, std::uint64_t& most_steps,
                                             const std::function<bool()>& is_stopped);

}  // namespace shardwright::embedding
