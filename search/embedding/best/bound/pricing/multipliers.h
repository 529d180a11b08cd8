// The Lagrangian relaxation of a knapsack's capacities.
#pragma once

#include <cstdint>

#include "core/embedding/bound/bound_certificate.h"
#include "search/embedding/best/bound/pricing/knapsack.h"
#include "search/embedding/best/bound/pricing/parameters.h"

namespace shardwright::embedding {

// Multipliers that about minimise the relaxation: capacity at the multipliers, plus the best item
// of every copy by reduced value. The minimum bounds the value of every pattern. The relaxation is
// convex; the multiplier of one resource is found by bisection on the sign of the slack, the one of
// HBM by golden-section search around it. O(items x evaluations) time, which is added to `steps`.
CapacityMultipliers best_multipliers(const Knapsack& knapsack, const KnapsackParameters& parameters,
                                     std::uint64_t& steps);

}  // namespace shardwright::embedding
