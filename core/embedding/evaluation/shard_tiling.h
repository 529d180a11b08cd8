// Whether the shards of an option hold every row and column of their table exactly once.
#pragma once

#include "core/embedding/problem/table.h"
#include "core/embedding/sharding_option.h"

namespace shardwright::embedding {

// Data-parallel shards must each be the whole table. All other shards must form blocks of columns
// next to each other, each cut into rows without a gap or an overlap. With `rows_may_be_wider`, the
// shards may reach beyond `embedding_dim`, all to the same column: the rows of a quantised table
// also hold a scale and a bias. Cost: O(runs log runs) where the shards of a run are stacked row
// over row, and otherwise O(shards log shards).
bool shards_tile_table(const ShardingOption& option, const Table& table, bool rows_may_be_wider);

}  // namespace shardwright::embedding
