// Merges equal neighbouring shards into runs.
#pragma once

#include <boost/container/small_vector.hpp>

#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// The shards of one option in order, merged greedily into runs. A run of one shard has steps of
// zero. Two options with the same shards and costs get the same runs, however they were written.
// Thread safety: one thread at a time.
struct ShardRuns {
  ShardLayout layout;
  boost::container::small_vector<ShardCost, 3> costs;  // parallel to layout.extents

  // Appends shards. They join the last run if they continue it exactly: same size, same cost, and
  // offsets in arithmetic progression.
  void append(ShardExtent extent, const ShardCost& cost);
};

}  // namespace shardwright::embedding
