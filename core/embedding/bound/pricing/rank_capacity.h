// Sets of shards on one rank, and what the rank can hold.
#pragma once

#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "core/embedding/problem/storage.h"

namespace shardwright::embedding {

// Shards on one rank: their dual value and the resources that they use. Values are rounded up,
// loads down.
struct ShardSet {
  double value = 0;
  double load = 0;
  Storage storage = {};
};

ShardSet sum(const ShardSet& a, const ShardSet& b);

// The smaller use of each resource; the value of `a`.
ShardSet componentwise_min(const ShardSet& a, const ShardSet& b);

// Returns true if `a` has no less value than `b` and uses no more of any resource.
bool dominates(const ShardSet& a, const ShardSet& b);

// What a rank can hold, and what its capacities are worth.
// Thread safety: a value.
struct RankCapacity {
  double load_limit = 0;
  Storage room;
  CapacityMultipliers multipliers;

  bool fits(const ShardSet& shards) const;
  // The value of the shards less the cost of their resources at the multipliers, rounded up.
  double reduced_value(const ShardSet& shards) const;
  // The cost of all capacities at the multipliers, rounded up.
  double cost() const;
};

}  // namespace shardwright::embedding
