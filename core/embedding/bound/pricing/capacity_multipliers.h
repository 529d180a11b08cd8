// What the capacities of a rank are worth.
#pragma once

namespace shardwright::embedding {

// Lagrangian multipliers of the capacities of a rank: per unit of load (milliseconds, or bytes for
// the storage model), per byte of HBM, per byte of DDR. Never negative.
struct CapacityMultipliers {
  double load = 0;
  double hbm = 0;
  double ddr = 0;
};

}  // namespace shardwright::embedding
