#include "core/embedding/shard_runs.h"

namespace shardwright::embedding {

void ShardRuns::append(ShardExtent extent, const ShardCost& cost) {
  if (extent.count == 1) extent.row_step = extent.column_step = 0;
  if (!layout.extents.empty()) {
    ShardExtent& run = layout.extents.back();
    const bool single = run.count == 1;
    const std::int64_t row_step = single ? extent.row_offset - run.row_offset : run.row_step;
    const std::int64_t column_step =
        single ? extent.column_offset - run.column_offset : run.column_step;
    const bool same_step =
        extent.count == 1 || (extent.row_step == row_step && extent.column_step == column_step);
    if (same_step && run.rows == extent.rows && run.columns == extent.columns &&
        extent.row_offset == run.row_offset + row_step * run.count &&
        extent.column_offset == run.column_offset + column_step * run.count &&
        costs.back() == cost) {
      run.row_step = row_step;
      run.column_step = column_step;
      run.count += extent.count;
      layout.num_shards += extent.count;
      return;
    }
  }
  layout.append(extent);
  costs.push_back(cost);
}

}  // namespace shardwright::embedding
