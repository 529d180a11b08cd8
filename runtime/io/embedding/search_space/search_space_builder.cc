#include "runtime/io/embedding/search_space/search_space_builder.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "core/embedding/evaluation/shard_tiling.h"

namespace shardwright {
namespace {

using embedding::kMemoryTiers;
using embedding::MemoryTier;
using embedding::Perf;
using embedding::Problem;
using embedding::ShardCost;
using embedding::ShardExtent;
using embedding::ShardingOption;
using embedding::ShardingType;
using embedding::ShardRuns;
using embedding::Table;
using embedding::TableId;
using embedding::to_name;

// Keeps the byte sums of every possible plan within int64.
constexpr std::int64_t kMaxTotalBytes = std::int64_t{1} << 62;

Error refused(std::string message) { return invalid_input("", std::move(message)); }

// Returns true if all shards of a run lie within the table along one dimension.
bool within(std::int64_t offset, std::int64_t step, std::uint32_t count, std::int64_t size,
            std::int64_t limit) {
  if (size < 0 || size > limit || offset < 0 || offset > limit) return false;
  if (step < -limit || step > limit) return false;
  const std::int64_t steps = count - std::int64_t{1};
  if (steps > 0 && step != 0 && std::abs(step) > limit / steps) return false;
  const std::int64_t last = offset + step * steps;
  return last >= 0 && last + size <= limit;
}

// A packed quantised row includes its scale and padding, so it is wider than the table.
std::int64_t max_columns(const Problem& problem, const Table& table) {
  const bool packed = problem.spec().sharder.type == embedding::SharderSpec::Type::kQuant;
  return packed ? 8 * (table.embedding_dim + 32) : table.embedding_dim;
}

bool is_cost(const ShardCost& cost) {
  const Perf& perf = cost.perf;
  return !cost.storage.is_negative() &&
         std::ranges::all_of(
             std::initializer_list<Milliseconds>{perf.fwd_compute, perf.fwd_comms, perf.bwd_compute,
                                                 perf.bwd_comms, perf.prefetch_compute},
             [](Milliseconds time) { return time.value() >= 0 && std::isfinite(time.value()); });
}

ShardCost without_negative_zeros(ShardCost cost) {
  const auto plain = [](Milliseconds time) { return Milliseconds(time.value() + 0.0); };
  cost.perf = {plain(cost.perf.fwd_compute), plain(cost.perf.fwd_comms),
               plain(cost.perf.bwd_compute), plain(cost.perf.bwd_comms),
               plain(cost.perf.prefetch_compute)};
  return cost;
}

}  // namespace

SearchSpaceBuilder::SearchSpaceBuilder(std::shared_ptr<const Problem> problem)
    : problem_(std::move(problem)),
      layouts_(std::make_shared<embedding::ShardLayoutInterner>()),
      max_option_bytes_(kMaxTotalBytes / std::max<std::int64_t>(std::ssize(problem_->tables()), 1)),
      has_option_(problem_->tables().size(), false) {}

Status SearchSpaceBuilder::begin_option(std::uint64_t table, ShardingType type,
                                        embedding::ComputeKernel kernel) {
  if (table >= has_option_.size()) {
    return refused("there is no table " + std::to_string(table) + "; the problem has " +
                   std::to_string(has_option_.size()));
  }
  option_ = ShardingOption();
  option_.table = TableId(table);
  option_.sharding_type = type;
  option_.compute_kernel = kernel;
  option_.batch_size = problem_->batch_size();
  option_.is_pooled = problem_->table(option_.table).kind == embedding::TableKind::kPooled;
  option_.is_weighted = problem_->table(option_.table).weighted;
  runs_ = ShardRuns();
  const Bytes most(max_option_bytes_);
  bytes_left_ = {most, most, most};
  return {};
}

Status SearchSpaceBuilder::add_shards(const ShardExtent& extent, const ShardCost& cost) {
  if (extent.count < 1 || extent.count > kMaxShards) {
    return refused("count must be between 1 and 2^24");
  }
  if (!within_table(extent)) {
    const Table& table = problem_->table(option_.table);
    return refused("the shard is not within table \"" + table.name + "\" of " +
                   std::to_string(table.num_embeddings) + " x " +
                   std::to_string(table.embedding_dim));
  }
  if (!is_cost(cost)) return refused("bytes and times must be finite numbers, 0 or above");
  for (const MemoryTier tier : kMemoryTiers) {
    if (cost.storage[tier].value() > bytes_left_[tier].value() / extent.count)
      return refused("the bytes of the shards exceed what can be added up");
  }
  bytes_left_ -= std::int64_t{extent.count} * cost.storage;
  if (runs_.layout.num_shards > kMaxShards - extent.count)
    return refused("an option may have at most 2^24 shards");
  runs_.append(extent, without_negative_zeros(cost));
  return {};
}

bool SearchSpaceBuilder::within_table(const ShardExtent& extent) const {
  const Table& table = problem_->table(option_.table);
  return within(extent.row_offset, extent.row_step, extent.count, extent.rows,
                table.num_embeddings) &&
         within(extent.column_offset, extent.column_step, extent.count, extent.columns,
                max_columns(*problem_, table));
}

Status SearchSpaceBuilder::end_option() {
  if (runs_.layout.num_shards == 0) return refused("an option must have at least one shard");
  option_.layout = layouts_->intern(std::move(runs_.layout));
  option_.costs = std::move(runs_.costs);
  SHARDWRIGHT_RETURN_IF_ERROR(check_num_shards());
  SHARDWRIGHT_RETURN_IF_ERROR(check_tiling());
  SHARDWRIGHT_RETURN_IF_ERROR(check_distinct());
  has_option_[option_.table.index()] = true;
  options_.push_back(std::move(option_));
  return {};
}

// No plan with other shards is valid, so a search must not choose them.
Status SearchSpaceBuilder::check_tiling() {
  const Table& table = problem_->table(option_.table);
  const Tiling tiling{option_.layout, option_.sharding_type, table.num_embeddings,
                      table.embedding_dim};
  if (tilings_.contains(tiling)) return {};
  const bool quantised = problem_->spec().sharder.type == embedding::SharderSpec::Type::kQuant;
  if (!embedding::shards_tile_table(option_, table, quantised)) {
    return refused("the shards do not hold every row and column of table \"" + table.name +
                   "\" once");
  }
  tilings_.insert(tiling);
  return {};
}

// A plan file names an option by its sharding type, kernel, load factor and shards.
Status SearchSpaceBuilder::check_distinct() {
  const Name name{option_.table.value(), option_.sharding_type, option_.compute_kernel,
                  option_.load_factor, option_.layout};
  const auto [first, added] = names_.try_emplace(name, options_.size());
  if (added || options_[first->second].costs == option_.costs) return {};
  return refused("table \"" + problem_->table(option_.table).name +
                 "\" has this option twice, with different costs");
}

// Checks the shard counts that the partitioners assume. Source:
// GreedyPerfPartitioner._uniform_partition, torchrec/distributed/planner/partitioners.py.
Status SearchSpaceBuilder::check_num_shards() const {
  const std::uint32_t world = problem_->topology().world_size();
  const std::uint32_t local = problem_->topology().local_world_size();
  const std::uint32_t count = option_.num_shards();
  const auto wrong = [&](const std::string& what, std::uint32_t number, const char* rest) {
    return refused("a " + std::string(to_name(option_.sharding_type)) + " option must have " +
                   what + " (" + std::to_string(number) + ")" + rest + ", has " +
                   std::to_string(count));
  };
  if (option_.partition_by() == embedding::PartitionBy::kUniform && count != world) {
    return wrong("one shard per rank", world, "");
  }
  if (option_.sharding_type == ShardingType::kTableRowWise && count != local) {
    return wrong("one shard per rank of a host", local, "");
  }
  if (option_.sharding_type == ShardingType::kGridShard && count % local != 0) {
    return wrong("a multiple of the ranks of a host", local, " of shards");
  }
  return {};
}

Result<std::shared_ptr<const embedding::SearchSpace>> SearchSpaceBuilder::finish() {
  for (std::size_t i = 0; i < has_option_.size(); ++i) {
    if (!has_option_[i]) {
      const Table& table = problem_->tables()[i];
      return refused("has no option for table \"" + table.name + "\" of module \"" + table.module +
                     "\"");
    }
  }
  return embedding::SearchSpace::make(problem_, layouts_, std::move(options_));
}

}  // namespace shardwright
