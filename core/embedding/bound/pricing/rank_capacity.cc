#include "core/embedding/bound/pricing/rank_capacity.h"

#include <algorithm>

#include "core/numeric/directed_rounding.h"

namespace shardwright::embedding {

ShardSet sum(const ShardSet& a, const ShardSet& b) {
  return {add_up(a.value, b.value), add_down(a.load, b.load), a.hbm_bytes + b.hbm_bytes,
          a.ddr_bytes + b.ddr_bytes};
}

ShardSet componentwise_min(const ShardSet& a, const ShardSet& b) {
  return {a.value, std::min(a.load, b.load), std::min(a.hbm_bytes, b.hbm_bytes),
          std::min(a.ddr_bytes, b.ddr_bytes)};
}

bool dominates(const ShardSet& a, const ShardSet& b) {
  return a.value >= b.value && a.load <= b.load && a.hbm_bytes <= b.hbm_bytes &&
         a.ddr_bytes <= b.ddr_bytes;
}

bool RankCapacity::fits(const ShardSet& shards) const {
  return shards.load <= load_limit && shards.hbm_bytes <= room.hbm.value() &&
         shards.ddr_bytes <= room.ddr.value();
}

double RankCapacity::reduced_value(const ShardSet& shards) const {
  double cost = multiply_down(multipliers.load, shards.load);
  cost = add_down(cost, multiply_down(multipliers.hbm, rounded_down(shards.hbm_bytes)));
  cost = add_down(cost, multiply_down(multipliers.ddr, rounded_down(shards.ddr_bytes)));
  return add_up(shards.value, -cost);
}

double RankCapacity::cost() const {
  const auto bytes = [](Bytes own) { return rounded_up(std::max<std::int64_t>(0, own.value())); };
  double cost = multiply_up(multipliers.load, load_limit);
  cost = add_up(cost, multiply_up(multipliers.hbm, bytes(room.hbm)));
  return add_up(cost, multiply_up(multipliers.ddr, bytes(room.ddr)));
}

}  // namespace shardwright::embedding
