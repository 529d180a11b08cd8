// Checks a bound certificate without knowing how it was found.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/rank_flows.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// `evaluate` adds loads in floating point, so a rating may lie below the exact sum by this relative
// amount. The check therefore proves a bound that is higher by this amount.
inline constexpr double kRatingSlack = 1e-9;

// A work limit under which only the sizes of problem and certificate limit a check.
inline constexpr std::uint64_t kAnySteps = std::numeric_limits<std::uint64_t>::max();

// Returns what is wrong with the proof, or nothing if it holds.
//
// The check recomputes every load from the options, rounds every sum to the side that weakens the
// proof, and solves the pricing problem of a rank with code of its own (RankPricing). It ignores an
// option only if another option of the table can replace it in every plan, or if the rules of its
// table exclude every placement (may_have_place). It ignores all other placement rules, because
// they can only raise the least rating. For a certificate by search, it tries all plans again under
// all rules, if the problem is small. A rank with a time scale above 1 may hold less load.
//
// Time: O(leaves x options) for Lagrangian leaves. Pattern leaves and leaves by search take
// exponential time in the worst case, and a certificate may be forged. The check therefore returns
// kProofTooLong after `work_limit` steps, after the steps that a certificate of its size may take,
// or if `is_stopped` returns true. It calls `is_stopped` about every millisecond.
std::optional<std::string> check_bound(const SearchSpace& space, const Topology& available,
                                       const BoundCertificate& certificate,
                                       std::uint64_t work_limit = kAnySteps,
                                       const std::function<bool()>& is_stopped = {});

// Returns a rating above that of every plan: twice the load of all tables, each with its most
// expensive option, on the slowest rank. Returns nullopt if the rating reaches 1e200.
std::optional<double> unreachable_rating(const SearchSpace& space);

// Like check_bound(), for a certificate with an infinite bound, which states that no plan exists.
// Checks that no plan rates below unreachable_rating().
std::optional<std::string> check_absence(const SearchSpace& space, const Topology& available,
                                         BoundCertificate certificate,
                                         std::uint64_t work_limit = kAnySteps,
                                         const std::function<bool()>& is_stopped = {});

// Checks that no plan of the space has a rating + weight x GiB moved from `held` below the bound.
// The certificate must be by search. The check tries all plans again; good prices exclude all plans
// at the root.
std::optional<std::string> check_move_bound(const SearchSpace& space, const Topology& available,
                                            const HeldPlan& held,
                                            const BoundCertificate& certificate,
                                            std::uint64_t work_limit = kAnySteps,
                                            const std::function<bool()>& is_stopped = {});

}  // namespace shardwright::embedding
