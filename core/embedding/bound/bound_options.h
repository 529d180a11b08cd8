// Which options a lower bound must count, and where their shards may be.
#pragma once

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Two forms of an option's placement: shard i on rank i of all ranks (is_on_all_ranks), or whole
// hosts filled in rank order (fills_hosts). An option that fills the only host is on all ranks.
// With one rank per host, an option of PartitionBy::kMultiHost is free (is_free).
bool is_on_all_ranks(const ShardingOption& option, const Topology& topology);
bool fills_hosts(const ShardingOption& option, const Topology& topology);
// Returns true if every shard may be on any rank.
bool is_free(const ShardingOption& option, const Topology& topology);

// The load that the rating counts: milliseconds, or bytes of HBM for the storage model.
double load_of(const ShardCost& cost, PerfModel model);

// Returns false only if no placement of the option has the form that its sharding type asks for and
// obeys the rules of its own table. May return true though there is no such placement. Rules about
// groups of tables are ignored. O(shards x hosts).
bool may_have_place(const PlacementRules& rules, const Topology& topology,
                    const ShardingOption& option);

// Returns true if `a` can replace `b` in every plan without more load or memory: both have the same
// form and no shard of `a` costs more, or `a` is a single free shard that costs no more than some
// shard of `b`. Placement rules are ignored.
bool replaces(const ShardingOption& a, const ShardingOption& b, const Topology& topology,
              PerfModel model);

}  // namespace shardwright::embedding
