// What the capacities of a rank are worth.
#pragma once

#include "core/embedding/problem/storage.h"

namespace shardwright::embedding {

// Lagrangian multipliers of the capacities of a rank: per unit of load (milliseconds, or bytes for
// the storage model) and per byte of each tier of memory. Never negative.
struct CapacityMultipliers {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
  double ssd = 0;

  constexpr double& operator[](MemoryTier tier) { return at_tier(*this, tier); }
  constexpr double operator[](MemoryTier tier) const { return at_tier(*this, tier); }
};

}  // namespace shardwright::embedding
