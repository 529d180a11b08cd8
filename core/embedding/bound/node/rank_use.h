// What shards use of a rank, in doubles that are rounded down.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/embedding/bound/options/bound_options.h"
#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "core/embedding/problem/storage.h"
#include "core/embedding/sharding_option.h"
#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {

// Load and bytes of shards on one rank, rounded down. The check of a long proof takes most of its
// time with these few operations.
// Thread safety: a value.
struct RankUse {
  double load = 0;
  PerTier<double> bytes = {};
};

// One run of an open option.
// Thread safety: a value.
struct RunUse {
  RankUse use;  // of a shard
  std::uint32_t count = 0;
};

inline RankUse use_of(const ShardCost& cost, PerfModel model) {
  RankUse use{load_of(cost, model)};
  for (const MemoryTier tier : kMemoryTiers)
    use.bytes[tier] = rounded_down(cost.storage[tier].value());
  return use;
}

// Combines load and every tier of memory.
template <class Combine>
RankUse combined(const RankUse& a, const RankUse& b, const Combine& combine) {
  return {combine(a.load, b.load),
          {combine(a.bytes.hbm, b.bytes.hbm), combine(a.bytes.ddr, b.bytes.ddr),
           combine(a.bytes.ssd, b.bytes.ssd)}};
}
inline RankUse least_of(const RankUse& a, const RankUse& b) {
  return combined(a, b, [](double x, double y) { return std::min(x, y); });
}
inline RankUse most_of(const RankUse& a, const RankUse& b) {
  return combined(a, b, [](double x, double y) { return std::max(x, y); });
}
inline RankUse sum_of(const RankUse& a, const RankUse& b) { return combined(a, b, add_down); }
inline RankUse without(const RankUse& all, const RankUse& own) {
  return combined(all, own, [](double x, double y) { return add_down(x, -y); });
}

// What a shard takes at the multipliers of a class, rounded down.
inline double cost_at(const CapacityMultipliers& multipliers, const RankUse& use) {
  double sum = multiply_down(multipliers.load, use.load);
  for (const MemoryTier tier : kMemoryTiers)
    sum = add_down(sum, multiply_down(multipliers[tier], use.bytes[tier]));
  return sum;
}

}  // namespace shardwright::embedding
