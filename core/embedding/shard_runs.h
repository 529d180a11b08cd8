// Gathers equal neighbouring shards into runs.
#pragma once

#include <boost/container/small_vector.hpp>

#include "core/embedding/sharding_option.h"

namespace shardwright {

// Shards of one option in order, as few runs as greedy merging gives. A run of one shard has steps
// of zero.
// Thread safety: one thread at a time.
struct ShardRuns {
  embedding::ShardLayout layout;
  boost::container::small_vector<embedding::ShardCost, 3> costs;  // parallel to layout.extents

  // Appends shards, to the last run where they continue it exactly: same size, same cost, offsets
  // in arithmetic progression.
  void append(embedding::ShardExtent extent, const embedding::ShardCost& cost);
};

}  // namespace shardwright
