// The Lagrangian relaxation of a knapsack's capacities.
#pragma once

#include <cstdint>

#include "core/embedding/bound/certificate/bound_certificate.h"
#include "search/embedding/best/bound/pricing/knapsack.h"
#include "search/embedding/best/parameters/bound_parameters.h"

namespace shardwright::embedding {

// Returns multipliers close to the minimum of the relaxation: capacity at the multipliers, plus the
// best item of every copy by reduced value. The minimum bounds the value of every pattern. The
// relaxation is convex. The multiplier of load is found by bisection on the sign of the slack, and
// so are those of DDR and SSD; the multiplier of HBM by a golden-section search around that. Time:
// O(items x evaluations), which is added to `steps`.
CapacityMultipliers best_multipliers(const Knapsack& knapsack, const KnapsackParameters& parameters,
                                     std::uint64_t& steps);

}  // namespace shardwright::embedding
