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

// The physical shape of a table's tensor. Training tensors are rows x dim of 2 or 4 byte elements;
// quantised ones are rows of bytes that hold the packed values with scale and bias.
struct TensorShape {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  int element_size_bytes = 0;
  std::int64_t size_bytes = 0;
};

// Bits of one element, which may be less than a byte.
constexpr std::int64_t element_bits(const TensorShape& shape) {
  if (shape.rows == 0 || shape.columns == 0) return 0;
  return shape.size_bytes / shape.rows * 8 / shape.columns;
}

// Source: EmbeddingBagCollection.__init__ (torchrec/modules/embedding_modules.py) for training,
// rounded_row_size_in_bytes with alignment 16 (fbgemm_gpu, split_table_batched_embeddings_ops) for
// quantised tables.
TensorShape tensor_shape(const Table& table, SharderSpec::Type sharder);

// The number of buckets that row_wise keeps whole when it divides the rows; 0 = it divides single
// rows. Only modules whose configuration declares the table virtual have buckets. Source:
// _get_num_buckets, torchrec/distributed/planner/enumerators.py.
std::int64_t row_buckets(const Table& table);

// The shards of `table` under `type` on `topology`, in TorchRec's order. Equal neighbours form one
// extent: O(1) extents, O(ranks) if ranks differ in memory, O(column blocks) for a grid.
// Source: calculate_shard_sizes_and_offsets, torchrec/distributed/sharding_plan.py.
ShardLayout shard_layout(const Table& table, const TensorShape& shape, ShardingType type,
                         const Topology& topology);

}  // namespace shardwright::embedding
