#include "search/embedding/questions/replan/move_costs.h"

#include <algorithm>

namespace shardwright::embedding {
namespace {

// Costs that are kept in a table: 16 MiB.
constexpr std::size_t kMostTableCosts = std::size_t{1} << 21;

}  // namespace

MoveCosts::MoveCosts(const ChoiceModel& model, const HeldPlan& held)
    : model_(&model), world_(model.world_size()), charges_(&held), holders_(model.num_tables()) {
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    const std::optional<HeldTable>& own = held.tables[model.table(table).index()];
    if (!own || !own->layout) continue;
    // Ranks that the machine lacks hold nothing.
    for (const std::int64_t rank : own->ranks) {
      if (rank < static_cast<std::int64_t>(world_))
        holders_[table].push_back(static_cast<Rank>(rank));
    }
    std::sort(holders_[table].begin(), holders_[table].end());
    const auto end = std::unique(holders_[table].begin(), holders_[table].end());
    holders_[table].erase(end, holders_[table].end());
  }
  fill_table_costs();
}

double MoveCosts::compute(std::uint32_t choice, std::uint32_t shard, Rank rank) const {
  const ShardingOption& option = model_->pool().option(model_->choices()[choice].option);
  if (!charges_.has(option.table)) return 0;
  const ShardExtent* extent = option.layout->extents.data();
  while (shard >= extent->count)
    shard -= (extent++)->count;
  const TensorPart part{extent->row_offset + std::int64_t{shard} * extent->row_step,
                        extent->column_offset + std::int64_t{shard} * extent->column_step,
                        extent->rows, extent->columns};
  return charges_.charge(option.table, part, rank);
}

double MoveCosts::cost(std::uint32_t choice, std::span<const Rank> ranks) const {
  double sum = 0;
  const std::uint32_t shards = model_->choices()[choice].num_shards;
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    sum += cost(choice, shard, ranks.empty() ? shard : ranks[shard]);
  return sum;
}

void MoveCosts::fill_table_costs() {
  std::size_t size = 0;
  for (const Choice& choice : model_->choices())
    size += choice.num_shards * world_;
  if (size > kMostTableCosts) return;
  std::vector<double> costs;
  costs.reserve(size);
  for (std::uint32_t choice = 0; choice < model_->choices().size(); ++choice) {
    first_.push_back(costs.size());
    for (std::uint32_t shard = 0; shard < model_->choices()[choice].num_shards; ++shard) {
      for (Rank rank = 0; rank < world_; ++rank)
        costs.push_back(compute(choice, shard, rank));
    }
  }
  table_costs_ = std::move(costs);
}

}  // namespace shardwright::embedding
