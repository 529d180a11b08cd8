#include "core/embedding/bound/pricing/rank_capacity.h"

#include <algorithm>

#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {

ShardSet sum(const ShardSet& a, const ShardSet& b) {
  return {add_up(a.value, b.value), add_down(a.load, b.load), a.storage + b.storage};
}

ShardSet componentwise_min(const ShardSet& a, const ShardSet& b) {
  return {a.value, std::min(a.load, b.load), least_of(a.storage, b.storage)};
}

bool dominates(const ShardSet& a, const ShardSet& b) {
  return a.value >= b.value && a.load <= b.load && a.storage.fits_in(b.storage);
}

bool RankCapacity::fits(const ShardSet& shards) const {
  return shards.load <= load_limit && shards.storage.fits_in(room);
}

double RankCapacity::reduced_value(const ShardSet& shards) const {
  double cost = multiply_down(multipliers.load, shards.load);
  for (const MemoryTier tier : kMemoryTiers) {
    const double bytes = rounded_down(shards.storage[tier].value());
    cost = add_down(cost, multiply_down(multipliers[tier], bytes));
  }
  return add_up(shards.value, -cost);
}

double RankCapacity::cost() const {
  const auto bytes = [](Bytes own) { return rounded_up(std::max<std::int64_t>(0, own.value())); };
  double cost = multiply_up(multipliers.load, load_limit);
  for (const MemoryTier tier : kMemoryTiers)
    cost = add_up(cost, multiply_up(multipliers[tier], bytes(room[tier])));
  return cost;
}

}  // namespace shardwright::embedding
