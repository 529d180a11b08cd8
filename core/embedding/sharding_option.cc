#include "core/embedding/sharding_option.h"

#include <algorithm>
#include <bit>

#include "core/numeric/exact_mean.h"

namespace shardwright::embedding {
namespace {

std::uint64_t word(std::int64_t value) { return static_cast<std::uint64_t>(value); }
// Adding 0.0 turns -0.0 into 0.0, so that equal values have equal bits.
std::uint64_t word(double value) { return std::bit_cast<std::uint64_t>(value + 0.0); }

}  // namespace

std::uint64_t ShardLayoutTraits::hash(const ShardLayout& layout) {
  std::uint64_t h = layout.num_shards;
  for (const ShardExtent& extent : layout.extents) {
    h = hash_mix(h, word(extent.rows));
    h = hash_mix(h, word(extent.columns) ^ (std::uint64_t{extent.count} << 32));
    h = hash_mix(h, word(extent.row_offset) + word(extent.column_offset) * 0x9e3779b97f4a7c15ULL);
    h = hash_mix(h, word(extent.row_step) + word(extent.column_step) * 0x9e3779b97f4a7c15ULL);
  }
  return h;
}

std::uint64_t ShardingOptionTraits::hash(const ShardingOption& option) {
  std::uint64_t h =
      hash_mix(option.table.value(), static_cast<std::uint64_t>(option.sharding_type) << 8 |
                                         static_cast<std::uint64_t>(option.compute_kernel));
  h = hash_mix(h, option.load_factor ? word(*option.load_factor) : ~std::uint64_t{0});
  h = hash_mix(h, std::bit_cast<std::uintptr_t>(option.layout));
  for (const ShardCost& cost : option.costs) {
    h = hash_mix(h, word(cost.storage.hbm.value()) + (word(cost.storage.ddr.value()) << 20) +
                        (word(cost.storage.ssd.value()) << 40));
    h = hash_mix(h, word(cost.perf.total().value()));
  }
  return h;
}

Storage ShardingOption::total_storage() const {
  Storage total;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    total += std::int64_t{layout->extents[i].count} * costs[i].storage;
  }
  return total;
}

Milliseconds ShardingOption::total_perf() const {
  double sum = 0;
  for (std::size_t i = 0; i < costs.size(); ++i) {
    sum = add_repeatedly(sum, costs[i].perf.total().value(), layout->extents[i].count);
  }
  return Milliseconds(sum);
}

Milliseconds ShardingOption::max_shard_perf() const {
  Milliseconds largest = costs.front().perf.total();
  for (const ShardCost& cost : costs) {
    if (cost.perf.total() > largest) largest = cost.perf.total();
  }
  return largest;
}

const ShardCost& ShardingOption::shard_cost(std::uint32_t shard) const {
  std::size_t run = 0;
  while (shard >= layout->extents[run].count)
    shard -= layout->extents[run++].count;
  return costs[run];
}

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
