#include "search/embedding/model/choice_model.h"

#include <algorithm>

#include "core/check.h"
#include "core/embedding/bound/bound_options.h"

namespace shardwright::embedding {

ChoiceModel::ChoiceModel(const OptionPool& pool, const Topology& available, const Budget& budget)
    : ChoiceModel(pool, available, budget, Kind::kSearch) {}

ChoiceModel::ChoiceModel(const OptionPool& pool, const Topology& available, const Budget& budget,
                         Kind kind)
    : pool_(&pool),
      world_size_(available.world_size()),
      local_world_size_(available.local_world_size()),
      load_is_memory_(pool.problem().spec().perf_model == PerfModel::kStorage),
      all_cuts_(kind == Kind::kAllCuts),
      topology_(available) {
  const bool for_bounds = kind == Kind::kForBounds;
  if (!load_is_memory_) time_scale_ = pool.problem().spec().calibration.rank_time;
  const Status stopped = Error{ErrorCode::kStopped, "stopped while choosing options", ""};
  std::vector<TableChoices> tables;
  for (const OptionPool::TableOptions& table : pool.tables()) {
    if (budget.interrupted()) {
      status_ = stopped;
      return;
    }
    std::vector<Choice>& choices = tables.emplace_back(TableChoices{table.table, {}}).choices;
    for (const OptionId id : table.options) {
      if (!for_bounds || may_have_place(rules(), topology_, pool.option(id))) add(id, choices);
    }
    for (std::size_t added = pool.space().size(); added < pool.size() && !for_bounds; ++added) {
      if (pool.option(OptionId(added)).table == table.table) add(OptionId(added), choices);
    }
  }
  if (!for_bounds) status_ = keep_allowed(pool.problem(), tables);
  choice_of_.assign(pool.size(), kNone);
  first_choice_.push_back(0);
  for (const TableChoices& table : tables) {
    if (budget.interrupted()) {
      status_ = stopped;
      return;
    }
    keep_undominated(table, for_bounds || rules().same_for_all_shards(table.id));
    first_choice_.push_back(static_cast<std::uint32_t>(choices_.size()));
  }
}

std::size_t ChoiceModel::table_of(std::uint32_t choice) const {
  const auto next = std::upper_bound(first_choice_.begin(), first_choice_.end(), choice);
  return static_cast<std::size_t>(next - first_choice_.begin()) - 1;
}

ChoiceModel ChoiceModel::relaxed(std::span<const std::vector<ChoiceRun>> runs) const {
  ChoiceModel own(*this);
  own.choices_.clear();
  own.runs_.clear();
  own.first_choice_.assign(1, 0);
  own.choice_of_.assign(choice_of_.size(), kNone);
  for (std::size_t table = 0; table < num_tables(); ++table) {
    for (std::uint32_t c = first_choice_[table]; c < first_choice_[table + 1]; ++c) {
      if (runs[c].empty()) continue;
      Choice choice = choices_[c];
      own.add_runs(runs[c], choice);
      own.choice_of_[choice.option.index()] = static_cast<std::uint32_t>(own.choices_.size());
      own.choices_.push_back(choice);
    }
    own.first_choice_.push_back(static_cast<std::uint32_t>(own.choices_.size()));
  }
  return own;
}

void ChoiceModel::add_runs(std::span<const ChoiceRun> runs, Choice& choice) {
  choice.first_run = static_cast<std::uint32_t>(runs_.size());
  choice.num_runs = static_cast<std::uint32_t>(runs.size());
  choice.load = 0;
  choice.max_load = 0;
  choice.storage = {};
  for (const ChoiceRun& run : runs) {
    runs_.push_back(run);
    choice.load += run.load * run.count;
    choice.max_load = std::max(choice.max_load, run.load);
    choice.storage += std::int64_t{run.count} * run.storage;
  }
  choice.bytes = as_doubles(choice.storage);
}

Reach ChoiceModel::reach_of(const OptionRow& row) const {
  const bool everywhere = is_one_host() && row.num_shards == world_size_;
  switch (row.partition_by) {
    case PartitionBy::kDevice:
      return Reach::kDevice;
    case PartitionBy::kUniform:
      return Reach::kAllRanks;
    case PartitionBy::kMultiHost:
      if (local_world_size_ == 1 && !everywhere) return Reach::kDevice;
      break;
    case PartitionBy::kHost:
      if (row.sharding_type == ShardingType::kTableRowWise) break;
      if (is_one_host() || (row.num_shards == 1 && !has_uneven_hosts())) return Reach::kDevice;
      return Reach::kHost;
  }
  return everywhere ? Reach::kAllRanks : Reach::kWholeHosts;
}

// Skips an option if its sharding type cannot place its number of shards on this machine.
void ChoiceModel::add(OptionId id, std::vector<Choice>& choices) {
  const OptionRow& row = pool_->row(id);
  Choice choice;
  choice.option = id;
  choice.reach = reach_of(row);
  choice.first_run = static_cast<std::uint32_t>(runs_.size());
  choice.num_runs = row.num_runs;
  choice.num_shards = row.num_shards;
  if (choice.reach == Reach::kAllRanks && choice.num_shards != world_size_) return;
  if (choice.reach == Reach::kWholeHosts && choice.num_shards % local_world_size_ != 0) return;
  const bool on_hosts = choice.reach == Reach::kWholeHosts || choice.reach == Reach::kHost;
  if (on_hosts && num_hosts() == 0) return;
  const std::span<const RunCost> costs = pool_->costs(row);
  for (std::uint32_t run = 0; run < row.num_runs; ++run) {
    const double load = load_is_memory_ ? static_cast<double>(costs[run].storage.hbm.value())
                                        : costs[run].total_ms();
    const std::uint32_t count = pool_->run_counts(row)[run];
    runs_.push_back({count, load, costs[run].storage});
    choice.load += load * count;
    choice.max_load = std::max(choice.max_load, load);
  }
  choice.storage = row.storage;
  choice.bytes = as_doubles(row.storage);
  choices.push_back(choice);
}

// A choice dominates another of the same reach if every shard costs no more than its counterpart. A
// choice of a single shard also dominates one that has a more expensive shard, since it can take
// that shard's rank; the rules must then allow the same ranks for every shard.
bool ChoiceModel::dominates(const Choice& a, const Choice& b, bool same_for_all_shards) const {
  const auto costs_no_more = [](const ChoiceRun& x, const ChoiceRun& y) {
    return x.load <= y.load && x.storage.fits_in(y.storage);
  };
  if (all_cuts_ && *pool_->option(a.option).layout != *pool_->option(b.option).layout) return false;
  const std::span<const ChoiceRun> own = runs(a);
  const std::span<const ChoiceRun> other = runs(b);
  if (a.reach == Reach::kDevice && a.num_shards == 1 && same_for_all_shards) {
    return std::any_of(other.begin(), other.end(), [&](const ChoiceRun& run) {
      return run.count > 0 && costs_no_more(own[0], run);
    });
  }
  if (a.reach != b.reach || a.num_shards != b.num_shards) return false;
  std::uint32_t left_own = 0;
  std::uint32_t left_other = 0;
  std::size_t i = 0;
  std::size_t j = 0;
  for (std::uint32_t shard = 0; shard < a.num_shards;) {
    while (left_own == 0)
      left_own = own[i++].count;
    while (left_other == 0)
      left_other = other[j++].count;
    if (!costs_no_more(own[i - 1], other[j - 1])) return false;
    const std::uint32_t step = std::min(left_own, left_other);
    left_own -= step;
    left_other -= step;
    shard += step;
  }
  return true;
}

void ChoiceModel::keep_undominated(const TableChoices& table, bool same) {
  const std::vector<Choice>& all = table.choices;
  const auto is_better = [&](std::size_t j, std::size_t i) {
    return i != j && dominates(all[j], all[i], same) && (j < i || !dominates(all[i], all[j], same));
  };
  const auto first = choices_.size();
  for (std::size_t i = 0; i < all.size(); ++i) {
    bool dominated = false;
    for (std::size_t j = 0; j < all.size() && !dominated; ++j)
      dominated = is_better(j, i);
    if (dominated) continue;
    choice_of_[all[i].option.index()] = static_cast<std::uint32_t>(choices_.size());
    choices_.push_back(all[i]);
  }
  for (const Choice& choice : all) {
    std::uint32_t& own = choice_of_[choice.option.index()];
    for (std::size_t k = first; k < choices_.size() && own == kNone; ++k) {
      if (dominates(choices_[k], choice, same)) own = static_cast<std::uint32_t>(k);
    }
  }
}

}  // namespace shardwright::embedding
