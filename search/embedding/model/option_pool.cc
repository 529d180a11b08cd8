#include "search/embedding/model/option_pool.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "search/embedding/model/shard_layout.h"

namespace shardwright::embedding {
namespace {

constexpr std::size_t kGrain = 128;  // options or tables per task
constexpr std::uint64_t kWorkPerOption = 16;

// The number of elements of all shards, replicas included.
double num_elements(const ShardLayout& layout) {
  double elements = 0;
  for (const ShardExtent& extent : layout.extents) {
    elements += static_cast<double>(extent.rows) * static_cast<double>(extent.columns) *
                static_cast<double>(extent.count);
  }
  return elements;
}

double bytes_per_element(const Problem& problem, TableId table) {
  const TensorShape shape = tensor_shape(problem.table(table), problem.spec().sharder.type);
  return static_cast<double>(element_bits(shape)) / 8;
}

}  // namespace

OptionPool::OptionPool(std::shared_ptr<const SearchSpace> space)
    : OptionPool(std::move(space), *std::make_unique<InlineExecutor>()) {}

OptionPool::OptionPool(std::shared_ptr<const SearchSpace> space, Executor& executor,
                       const Budget& budget)
    : space_(std::move(space)), layer_(std::make_shared<OptionLayer>(space_)) {
  if (budget.interrupted()) return;
  const auto options = space_->options();
  options_.resize(options.size());
  rows_.resize(options.size());
  canonical_.resize(options.size());
  std::size_t runs = 0;
  for (std::size_t i = 0; i < options.size(); ++i) {
    rows_[i].first_run = static_cast<std::uint32_t>(runs);
    runs += options[i].costs.size();
  }
  if (budget.interrupted()) return;
  costs_.resize(runs);
  counts_.resize(runs);
  executor.parallel_for(options.size(), kGrain, [&](unsigned, std::size_t begin, std::size_t end) {
    StopCheck stopped(budget);
    for (std::size_t i = begin; i < end && !stopped(kWorkPerOption * i); ++i)
      fill(i, options[i]);
  });
  if (!budget.interrupted()) group_by_table(executor, budget);
}

void OptionPool::append(const ShardingOption& option) {
  OptionRow row;
  row.first_run = static_cast<std::uint32_t>(costs_.size());
  rows_.push_back(row);
  options_.emplace_back();
  canonical_.emplace_back();
  costs_.resize(costs_.size() + option.costs.size());
  counts_.resize(costs_.size());
  fill(options_.size() - 1, option);
}

// Precondition: the row has its first run and the columns have their final size.
void OptionPool::fill(std::size_t index, const ShardingOption& option) {
  OptionRow& row = rows_[index];
  row.table = option.table.value();
  row.num_runs = static_cast<std::uint32_t>(option.costs.size());
  row.num_shards = option.num_shards();
  row.partition_by = option.partition_by();
  row.sharding_type = option.sharding_type;
  row.distinct_ranks = problem().release().spreads_key_value_columns &&
                       option.sharding_type == ShardingType::kColumnWise &&
                       option.compute_kernel == ComputeKernel::kKeyValue;
  row.storage = option.total_storage();
  row.perf_ms = option.total_perf().value();
  row.max_shard_perf_ms = option.max_shard_perf().value();
  for (std::size_t run = 0; run < option.costs.size(); ++run) {
    const ShardCost& cost = option.costs[run];
    const Perf& perf = cost.perf;
    costs_[row.first_run + run] =
        RunCost{cost.storage,
                {perf.fwd_compute.value(), perf.fwd_comms.value(), perf.bwd_compute.value(),
                 perf.bwd_comms.value(), perf.prefetch_compute.value()}};
    counts_[row.first_run + run] = option.layout->extents[run].count;
    row.equal_perf = row.equal_perf && perf == option.costs.front().perf;
    row.max_storage = most_of(row.max_storage, cost.storage);
  }
  canonical_[index] = static_cast<std::uint32_t>(index);
  options_[index] = &option;
}

void OptionPool::group_by_table(Executor& executor, const Budget& budget) {
  std::vector<std::uint32_t> slot(problem().tables().size(), ~std::uint32_t{0});
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::uint32_t& at = slot[rows_[i].table];
    if (at == ~std::uint32_t{0}) {
      at = static_cast<std::uint32_t>(tables_.size());
      tables_.push_back(TableOptions{TableId(rows_[i].table), {}});
    }
    tables_[at].options.emplace_back(i);
  }
  executor.parallel_for(tables_.size(), kGrain, [&](unsigned, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !budget.interrupted(); ++i)
      find_duplicates(tables_[i]);
  });
  assign_rank_slots();
}

// Every table gets the slots that its option with the most placed shards needs. An option that is
// added later has the layout of an option of the space.
void OptionPool::assign_rank_slots() {
  slot_of_table_.assign(problem().tables().size(), 0);
  for (const TableOptions& table : tables_) {
    std::uint32_t most = 0;
    for (const OptionId id : table.options) {
      OptionRow& row = rows_[id.index()];
      row.rank_slot = num_rank_slots_;
      if (row.partition_by != PartitionBy::kUniform) most = std::max(most, row.num_shards);
    }
    slot_of_table_[table.table.index()] = num_rank_slots_;
    num_rank_slots_ += most;
    most_placed_shards_ = std::max(most_placed_shards_, most);
  }
}

bool OptionPool::totals_fit() const {
  constexpr double kMaxBytes = 4611686018427387904.0;  // 2^62
  PerTier<double> all;
  double all_weights = 0;
  for (const TableOptions& table : tables_) {
    Storage most;
    double most_elements = 0;
    for (const OptionId id : table.options) {
      most = most_of(most, row(id).storage);
      most_elements = std::max(most_elements, num_elements(*option(id).layout));
    }
    for (const MemoryTier tier : kMemoryTiers)
      all[tier] += static_cast<double>(most[tier].value());
    all_weights += most_elements * bytes_per_element(problem(), table.table);
  }
  return all.hbm < kMaxBytes && all.ddr < kMaxBytes && all.ssd < kMaxBytes &&
         all_weights < kMaxBytes;
}

// A space from a file may have an option twice. Both then count as one.
void OptionPool::find_duplicates(const TableOptions& table) {
  for (std::size_t i = 1; i < table.options.size(); ++i) {
    const ShardingOption& own = option(table.options[i]);
    for (std::size_t j = 0; j < i; ++j) {
      const ShardingOption& other = option(table.options[j]);
      if (own.sharding_type == other.sharding_type && own.compute_kernel == other.compute_kernel &&
          own == other) {
        canonical_[table.options[i].index()] = canonical_[table.options[j].index()];
        break;
      }
    }
  }
}

OptionSetKey OptionPool::token(OptionId id) const {
  const std::uint64_t canonical = canonical_[id.index()];
  return {hash_mix(0x243f6a8885a308d3ULL, canonical), hash_mix(0x13198a2e03707344ULL, canonical)};
}

OptionId OptionPool::intern(ShardingOption option) {
  const ShardingOption* const interned = layer_->intern(std::move(option));
  if (const std::optional<OptionId> known = id_of(interned)) return *known;
  append(*interned);
  rows_.back().rank_slot = slot_of_table_[rows_.back().table];
  const OptionId id(options_.size() - 1);
  added_ids_.emplace(interned, id);
  return id;
}

std::optional<OptionId> OptionPool::id_of(const ShardingOption* option) const {
  const std::span<const ShardingOption> options = space_->options();
  const std::less<> before;
  if (!before(option, options.data()) && before(option, options.data() + options.size()))
    return OptionId(static_cast<std::size_t>(option - options.data()));
  const auto added = added_ids_.find(option);
  if (added == added_ids_.end()) return std::nullopt;
  return added->second;
}

}  // namespace shardwright::embedding
