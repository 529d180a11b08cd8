#include "search/embedding/questions/replan/costs/move_costs.h"

#include <algorithm>

#include "core/units.h"
#include "search/embedding/model/shard_layout.h"

namespace shardwright::embedding {
namespace {

// Costs that are kept in a table: 16 MiB.
constexpr std::size_t kMostTableCosts = std::size_t{1} << 21;

std::int64_t shared_length(std::int64_t a, std::int64_t a_length, std::int64_t b,
                           std::int64_t b_length) {
  return std::max<std::int64_t>(std::min(a + a_length, b + b_length) - std::max(a, b), 0);
}

}  // namespace

MoveCosts::MoveCosts(const ChoiceModel& model, const OldPlan& old, double weight)
    : model_(&model), world_(model.world_size()) {
  const Problem& problem = model.pool().problem();
  for (std::size_t table = 0; table < model.num_tables(); ++table) {
    first_part_.push_back(parts_.size());
    first_holder_.push_back(holders_.size());
    add_parts(model.table(table), old);
    const TensorShape shape =
        tensor_shape(problem.table(model.table(table)), problem.spec().sharder.type);
    const double bytes = static_cast<double>(element_bits(shape)) / 8;
    const bool is_new = old.place(model.table(table)) == nullptr;
    element_cost_.push_back(is_new ? 0 : weight * bytes / static_cast<double>(kGibibyte));
    for (std::size_t i = 0; i < model.choices(table).size(); ++i)
      table_of_.push_back(static_cast<std::uint32_t>(table));
  }
  first_part_.push_back(parts_.size());
  first_holder_.push_back(holders_.size());
  fill_table_costs();
}

// Ranks that the machine lacks hold nothing.
void MoveCosts::add_parts(TableId table, const OldPlan& old) {
  const ShardLayout* const layout = old.layout(table);
  if (layout == nullptr) return;
  const std::vector<std::int64_t>& ranks = old.place(table)->ranks;
  const std::size_t first = parts_.size();
  std::size_t shard = 0;
  for (const ShardExtent& extent : layout->extents) {
    for (std::int64_t k = 0; k < extent.count; ++k) {
      const std::int64_t rank = ranks[shard++];
      if (rank >= static_cast<std::int64_t>(world_)) continue;
      parts_.push_back({static_cast<Rank>(rank), extent.row_offset + k * extent.row_step,
                        extent.column_offset + k * extent.column_step, extent.rows,
                        extent.columns});
    }
  }
  const auto begin = parts_.begin() + static_cast<std::ptrdiff_t>(first);
  std::stable_sort(begin, parts_.end(),
                   [](const Part& a, const Part& b) { return a.rank < b.rank; });
  const std::size_t first_holder = holders_.size();
  for (auto part = begin; part != parts_.end(); ++part) {
    if (holders_.size() == first_holder || holders_.back() != part->rank)
      holders_.push_back(part->rank);
  }
}

double MoveCosts::compute(std::uint32_t choice, std::uint32_t shard, Rank rank) const {
  const std::uint32_t table = table_of_[choice];
  if (element_cost_[table] == 0) return 0;
  const ShardingOption& option = model_->pool().option(model_->choices()[choice].option);
  std::uint32_t k = shard;
  const ShardExtent* extent = option.layout->extents.data();
  while (k >= extent->count)
    k -= (extent++)->count;
  const std::int64_t row = extent->row_offset + std::int64_t{k} * extent->row_step;
  const std::int64_t column = extent->column_offset + std::int64_t{k} * extent->column_step;
  const std::int64_t area = extent->rows * extent->columns;
  const auto end = parts_.begin() + static_cast<std::ptrdiff_t>(first_part_[table + 1]);
  auto part = std::lower_bound(parts_.begin() + static_cast<std::ptrdiff_t>(first_part_[table]),
                               end, rank, [](const Part& a, Rank b) { return a.rank < b; });
  std::int64_t there = 0;
  for (; part != end && part->rank == rank; ++part) {
    there += shared_length(row, extent->rows, part->row, part->rows) *
             shared_length(column, extent->columns, part->column, part->columns);
  }
  return element_cost_[table] * static_cast<double>(area - std::min(area, there));
}

double MoveCosts::cost(std::uint32_t choice, std::span<const Rank> ranks) const {
  double sum = 0;
  const std::uint32_t shards = model_->choices()[choice].num_shards;
  for (std::uint32_t shard = 0; shard < shards; ++shard)
    sum += cost(choice, shard, ranks.empty() ? shard : ranks[shard]);
  return sum;
}

bool MoveCosts::are_alike(std::uint32_t choice, std::uint32_t a, std::uint32_t b) const {
  for (Rank rank = 0; rank < world_; ++rank) {
    if (cost(choice, a, rank) != cost(choice, b, rank)) return false;
  }
  return true;
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
