// How a sharding type cuts a table: sizes and offsets of its shards.
#pragma once

#include <cstdint>

#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"
#include "core/status.h"

namespace shardwright::embedding {

// The least width of a column block if the table's constraints name no width.
// Source: MIN_CW_DIM, torchrec/distributed/planner/constants.py.
inline constexpr std::int64_t kMinColumnWiseDim = 128;

// The physical shape of a table's tensor. A training tensor is rows x dim elements of 2 or 4 bytes.
// A row of a quantised tensor is an array of bytes with packed values, scale and bias.
struct TensorShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int element_size_bytes = 0;
  std::int64_t size_bytes = 0;
};

// Bits of one element, which may be less than 8.
constexpr std::int64_t element_bits(const TensorShape& shape) {
  if (shape.rows == 0 || shape.columns == 0) return 0;
  return shape.size_bytes / shape.rows * 8 / shape.columns;
}

// Source: EmbeddingBagCollection.__init__ (torchrec/modules/embedding_modules.py) for training,
// rounded_row_size_in_bytes with alignment 16 (fbgemm_gpu, split_table_batched_embeddings_ops) for
// quantised tables.
TensorShape tensor_shape(const Table& table, SharderSpec::Type sharder);

// The number of buckets of rows that row_wise does not divide; 0 if it divides anywhere. Only
// modules whose configuration declares the table virtual have buckets. Source: _get_num_buckets,
// torchrec/distributed/planner/enumerators.py.
std::int64_t row_buckets(const Table& table);

// The shards of `table` under `type` on `topology`, in TorchRec's order. Equal neighbours form one
// extent, so there are O(1) extents, O(ranks) if ranks differ in memory, or O(column blocks) for a
// grid.
// Source: calculate_shard_sizes_and_offsets, torchrec/distributed/sharding_plan.py.
ShardLayout shard_layout(const Table& table, const TensorShape& shape, ShardingType type,
                         const Topology& topology);

}  // namespace shardwright::embedding
