#include "search/embedding/model/shard_layout.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/numeric/exact_mean.h"

namespace shardwright::embedding {
namespace {

// Source: DEFAULT_ROW_ALIGNMENT, torchrec/quant/embedding_modules.py.
constexpr std::int64_t kQuantRowAlignment = 16;
// Scale and bias as two halves. Source: DEFAULT_SCALE_BIAS_SIZE_IN_BYTES, fbgemm_gpu.
constexpr std::int64_t kScaleBiasBytes = 4;

std::int64_t round_up(std::int64_t value, std::int64_t multiple) {
  return (value + multiple - 1) / multiple * multiple;
}

// Bytes of one packed row, with scale and bias if the type has them.
std::int64_t quantised_row_bytes(DataType type, std::int64_t dim) {
  switch (type) {
    case DataType::kInt8:
    case DataType::kUint8:
      return dim + kScaleBiasBytes;
    case DataType::kInt4:
      return dim / 2 + kScaleBiasBytes;
    case DataType::kInt2:
      return dim / 4 + kScaleBiasBytes;
    default:
      return dim * bits(type) / 8;
  }
}

TensorShape quantised_shape(const Table& table) {
  const std::int64_t row_bytes =
      round_up(quantised_row_bytes(table.data_type, table.embedding_dim), kQuantRowAlignment);
  // A tensor of sub-byte elements has a column per element, although several elements share a byte.
  const std::int64_t per_byte = table.data_type == DataType::kInt4   ? 2
                                : table.data_type == DataType::kInt2 ? 4
                                                                     : 1;
  return {table.num_embeddings, row_bytes * per_byte, 1, table.num_embeddings * row_bytes};
}

// Collects shards and merges equal neighbours into one extent.
class LayoutBuilder {
 public:
  void add(std::int64_t rows, std::int64_t columns, std::int64_t row_offset,
           std::int64_t column_offset) {
    if (!layout_.extents.empty()) {
      ShardExtent& last = layout_.extents.back();
      const auto next = static_cast<std::int64_t>(last.count);
      if (last.rows == rows && last.columns == columns &&
          row_offset == last.row_offset + next * rows && column_offset == last.column_offset) {
        ++last.count;
        ++layout_.num_shards;
        return;
      }
    }
    layout_.append(ShardExtent{rows, columns, row_offset, column_offset, rows, 0, 1});
  }
  void add_run(std::int64_t rows, std::int64_t columns, std::int64_t row_offset,
               std::int64_t column_offset, std::int64_t count) {
    if (count > 0) {
      layout_.append(ShardExtent{rows, columns, row_offset, column_offset, rows, 0,
                                 static_cast<std::uint32_t>(count)});
    }
  }
  ShardLayout take() { return std::move(layout_); }

 private:
  ShardLayout layout_;
};

// Adds blocks of ceil(rows / devices) rows. The last non-empty block is short, later blocks are
// empty.
void add_row_blocks(LayoutBuilder& builder, std::int64_t rows, std::int64_t devices,
                    std::int64_t columns, std::int64_t column_offset) {
  const std::int64_t block = (rows + devices - 1) / devices;
  const std::int64_t full = rows / block;
  const std::int64_t rest = rows - block * full;
  builder.add_run(block, columns, 0, column_offset, full);
  if (full < devices && rest > 0) builder.add_run(rest, columns, block * full, column_offset, 1);
  const std::int64_t used = full + (rest > 0 ? 1 : 0);
  builder.add_run(0, columns, rows, column_offset, devices - used);
}

// Adds blocks of whole buckets. If buckets do not divide evenly, the first ranks take one more.
void add_bucket_blocks(LayoutBuilder& builder, std::int64_t rows, std::int64_t devices,
                       std::int64_t columns, std::int64_t buckets) {
  const std::int64_t bucket_rows = rows / buckets;
  const std::int64_t each = buckets / devices;
  const std::int64_t extra = buckets % devices;
  const std::int64_t larger = bucket_rows * (each + 1);
  builder.add_run(larger, columns, 0, 0, extra);
  builder.add_run(bucket_rows * each, columns, larger * extra, 0, devices - extra);
}

// Adds blocks in proportion to the memory of each rank, rounded down; the last rank takes the rest.
void add_uneven_blocks(LayoutBuilder& builder, std::int64_t rows, std::int64_t columns,
                       const std::vector<std::int64_t>& memory, std::int64_t buckets) {
  std::int64_t total = 0;
  for (const std::int64_t size : memory)
    total += size;
  const std::int64_t bucket_rows = rows / buckets;
  std::int64_t begin = 0;
  for (std::size_t rank = 0; rank < memory.size(); ++rank) {
    std::int64_t own = rows - begin;
    if (rank + 1 < memory.size()) {
      const double share =
          static_cast<double>(buckets) *
          true_divide(static_cast<WideUnsigned>(memory[rank]), static_cast<std::uint64_t>(total));
      own = static_cast<std::int64_t>(share) * bucket_rows;
    }
    builder.add(own, columns, begin, 0);
    begin += own;
  }
}

ShardLayout row_wise(const Table& table, const TensorShape& shape, const Topology& topology) {
  const std::int64_t buckets = row_buckets(table);
  LayoutBuilder builder;
  if (!topology.device_memory_sizes().empty()) {
    add_uneven_blocks(builder, shape.rows, shape.columns, topology.device_memory_sizes(),
                      buckets > 0 ? buckets : shape.rows);
  } else if (buckets > 0) {
    add_bucket_blocks(builder, shape.rows, topology.world_size(), shape.columns, buckets);
  } else {
    add_row_blocks(builder, shape.rows, topology.world_size(), shape.columns, 0);
  }
  return builder.take();
}

// Returns the smallest width that is at least the bound, divides the columns and is a multiple of
// 4; all columns if there is no such width.
std::int64_t column_block(const Table& table, std::int64_t columns) {
  std::int64_t bound = kMinColumnWiseDim;
  if (table.constraints && table.constraints->min_partition &&
      *table.constraints->min_partition > 0) {
    bound = *table.constraints->min_partition;
  }
  for (std::int64_t width = round_up(bound, 4); width < columns; width += 4) {
    if (columns % width == 0) return width;
  }
  return columns;
}

}  // namespace

std::int64_t row_buckets(const Table& table) {
  if (!table.use_virtual_table || table.feature_processed || table.tower) return 0;
  return table.total_num_buckets.value_or(0);
}

TensorShape tensor_shape(const Table& table, SharderSpec::Type sharder) {
  if (sharder == SharderSpec::Type::kQuant) return quantised_shape(table);
  const int element_size = table.data_type == DataType::kFp32 ? 4 : 2;
  return {table.num_embeddings, table.embedding_dim, element_size,
          table.num_embeddings * table.embedding_dim * element_size};
}

ShardLayout shard_layout(const Table& table, const TensorShape& shape, ShardingType type,
                         const Topology& topology) {
  ShardLayout layout;
  switch (type) {
    case ShardingType::kDataParallel:
      layout.append({shape.rows, shape.columns, 0, 0, 0, 0, topology.world_size()});
      return layout;
    case ShardingType::kTableWise:
      layout.append({shape.rows, shape.columns, 0, 0, 0, 0, 1});
      return layout;
    case ShardingType::kRowWise:
      return row_wise(table, shape, topology);
    case ShardingType::kTableRowWise: {
      LayoutBuilder builder;
      add_row_blocks(builder, shape.rows, topology.local_world_size(), shape.columns, 0);
      return builder.take();
    }
    case ShardingType::kColumnWise:
    case ShardingType::kTableColumnWise: {
      const std::int64_t width = column_block(table, shape.columns);
      layout.append(
          {shape.rows, width, 0, 0, 0, width, static_cast<std::uint32_t>(shape.columns / width)});
      return layout;
    }
    case ShardingType::kGridShard: {
      const std::int64_t width = column_block(table, shape.columns);
      LayoutBuilder builder;
      for (std::int64_t offset = 0; offset < shape.columns; offset += width) {
        add_row_blocks(builder, shape.rows, topology.local_world_size(), width, offset);
      }
      return builder.take();
    }
  }
  return layout;
}

}  // namespace shardwright::embedding
