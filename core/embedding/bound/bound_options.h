// Which options a lower bound must count, and where their shards may be.
#pragma once

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Where shards of an option may be. On a single host, all of a host is all ranks; a host of one
// rank is that rank.
bool is_on_all_ranks(const ShardingOption& option, const Topology& topology);
bool fills_hosts(const ShardingOption& option, const Topology& topology);
// Every shard on any rank.
bool is_free(const ShardingOption& option, const Topology& topology);

// What the rating counts: milliseconds, or bytes of HBM for the storage model.
double load_of(const ShardCost& cost, PerfModel model);

// False only where no placement of the option has the form that its sharding type asks for and
// obeys the rules of its table alone; may be true where there is none. Groups of tables play no
// part. O(shards x hosts).
bool may_have_place(const PlacementRules& rules, const Topology& topology,
                    const ShardingOption& option);

// Whether a can stand wherever b stands at no more load and memory: the same form, shard by shard
// no dearer; or a single shard that is no dearer than some shard of b. Without a look at rules.
bool replaces(const ShardingOption& a, const ShardingOption& b, const Topology& topology,
              PerfModel model);

}  // namespace shardwright::embedding
