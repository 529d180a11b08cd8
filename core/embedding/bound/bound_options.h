// The options that a lower bound must consider, and where their shards may be.
#pragma once

#include "core/embedding/problem/problem.h"
#include "core/embedding/problem/topology.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// The placement of an option has one of several forms. is_on_all_ranks: shard i is on rank i, for
// all ranks. fills_hosts: the shards fill whole hosts in rank order. An option that fills the only
// host is on all ranks. With one rank per host, an option of PartitionBy::kMultiHost is free.
bool is_on_all_ranks(const ShardingOption& option, const Topology& topology);
bool fills_hosts(const ShardingOption& option, const Topology& topology);
// Returns true if every shard may be on any rank.
bool is_free(const ShardingOption& option, const Topology& topology);

// The load that the rating counts: ms, or bytes of HBM for the storage model.
double load_of(const ShardCost& cost, PerfModel model);

// Returns false only if no placement of the option has the form of its sharding type and obeys the
// rules of its own table. May return true although no such placement exists. Ignores rules about
// groups of tables. O(shards x hosts).
bool may_have_place(const PlacementRules& rules, const Topology& topology,
                    const ShardingOption& option);

// Returns true if `a` can replace `b` in every plan without more load or memory. There are two
// cases: both have the same form and no shard of `a` costs more, or `a` is a single free shard that
// costs at most as much as some shard of `b`. Ignores placement rules.
bool replaces(const ShardingOption& a, const ShardingOption& b, const Topology& topology,
              PerfModel model);

}  // namespace shardwright::embedding
