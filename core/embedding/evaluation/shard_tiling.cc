#include "core/embedding/evaluation/shard_tiling.h"

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardwright::embedding {
namespace {

// The part of a table that one shard holds, or several that are stacked row over row.
struct Tile {
  std::int64_t column = 0;
  std::int64_t row = 0;
  std::int64_t columns = 0;
  std::int64_t rows = 0;
  friend auto operator<=>(const Tile&, const Tile&) = default;
};

// Returns true if each shard of the run begins at the row where the one before it ends, so that
// they form one tile. The limit on the rows keeps their product with the count from overflowing.
bool stacked(const ShardExtent& extent) {
  return extent.column_step == 0 && extent.row_step == extent.rows && extent.rows > 0 &&
         extent.rows <= std::numeric_limits<std::int64_t>::max() / std::max(extent.count, 1U);
}

std::vector<Tile> sorted_tiles(const ShardLayout& layout) {
  std::vector<Tile> tiles;
  for (const ShardExtent& extent : layout.extents) {
    if (extent.empty()) continue;
    if (stacked(extent)) {
      tiles.push_back(Tile{extent.column_offset, extent.row_offset, extent.columns,
                           extent.rows * extent.count});
      continue;
    }
    for (std::int64_t k = 0; k < extent.count; ++k) {
      tiles.push_back(Tile{extent.column_offset + k * extent.column_step,
                           extent.row_offset + k * extent.row_step, extent.columns, extent.rows});
    }
  }
  std::sort(tiles.begin(), tiles.end());
  return tiles;
}

bool is_replica(const ShardExtent& extent, std::int64_t rows, std::int64_t columns) {
  return extent.rows == rows && extent.columns == columns && extent.row_offset == 0 &&
         extent.column_offset == 0 &&
         (extent.count == 1 || (extent.row_step == 0 && extent.column_step == 0));
}

// Precondition: `tiles` is sorted by column, then row.
bool tile_exactly(const std::vector<Tile>& tiles, std::int64_t rows, std::int64_t columns) {
  std::int64_t column = 0;
  for (std::size_t i = 0; i < tiles.size();) {
    const Tile& first = tiles[i];
    std::int64_t row = 0;
    for (; i < tiles.size() && tiles[i].column == first.column; ++i) {
      if (tiles[i].row != row || tiles[i].columns != first.columns || tiles[i].rows < 0)
        return false;
      row += tiles[i].rows;
    }
    if (first.column != column || first.columns < 0 || row != rows) return false;
    column += first.columns;
  }
  return column == columns;
}

}  // namespace

bool shards_tile_table(const ShardingOption& option, const Table& table, bool rows_may_be_wider) {
  std::int64_t width = table.embedding_dim;
  if (option.sharding_type == ShardingType::kDataParallel) {
    const auto& extents = option.layout->extents;
    if (rows_may_be_wider && !extents.empty()) width = std::max(width, extents.back().columns);
    return std::all_of(extents.begin(), extents.end(), [&](const ShardExtent& extent) {
      return is_replica(extent, table.num_embeddings, width);
    });
  }
  const std::vector<Tile> tiles = sorted_tiles(*option.layout);
  if (rows_may_be_wider && !tiles.empty())
    width = std::max(width, tiles.back().column + tiles.back().columns);
  return tile_exactly(tiles, table.num_embeddings, width);
}

}  // namespace shardwright::embedding
