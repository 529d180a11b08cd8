#include "search/embedding/compat/proposers.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "search/embedding/compat/scaleup_proposer.h"

namespace shardwright::embedding {

std::vector<OptionPool::TableOptions> sorted_by_perf(const OptionPool& pool, bool use_depth) {
  const auto score = [&](OptionId id) {
    const OptionRow& row = pool.row(id);
    return use_depth ? row.max_shard_perf_ms : row.perf_ms;
  };
  std::vector<OptionPool::TableOptions> tables = pool.tables();
  for (OptionPool::TableOptions& table : tables) {
    std::stable_sort(table.options.begin(), table.options.end(),
                     [&](OptionId a, OptionId b) { return score(a) < score(b); });
  }
  return tables;
}

void push_first_options(const std::vector<OptionPool::TableOptions>& tables, ProposalBatch& batch) {
  std::vector<OptionId> first;
  first.reserve(tables.size());
  for (const OptionPool::TableOptions& table : tables)
    first.push_back(table.options.front());
  batch.push_full(first);
}

std::unique_ptr<Proposer> make_proposer(const ProposerSpec& spec, const OptionPool& pool,
                                        const Topology& available, const CostModel* cost_model) {
  switch (spec.type) {
    case ProposerSpec::Type::kGreedy:
      return std::make_unique<GreedyProposer>(spec, pool);
    case ProposerSpec::Type::kUniform:
      return std::make_unique<UniformProposer>(spec, pool);
    case ProposerSpec::Type::kGrid:
      return std::make_unique<GridSearchProposer>(spec, pool);
    case ProposerSpec::Type::kDynamicProgramming:
      return std::make_unique<DynamicProgrammingProposer>(spec, pool, available);
    case ProposerSpec::Type::kScaleup:
      return std::make_unique<EmbeddingOffloadScaleupProposer>(spec, pool, available, cost_model);
  }
  return nullptr;
}

GreedyProposer::GreedyProposer(const ProposerSpec& spec, const OptionPool& pool)
    : tables_(sorted_by_perf(pool, spec.use_depth)), index_(tables_.size(), 0) {
  // 0 = no threshold.
  if (spec.threshold.value_or(0) != 0) threshold_ = spec.threshold;
  for (const auto& table : tables_)
    proposals_at_most_ += table.options.size() - 1;
  heap_.reserve(tables_.size());
  for (std::uint32_t position = 0; position < tables_.size(); ++position)
    offer(pool, position);
}

void GreedyProposer::offer(const OptionPool& pool, std::uint32_t position) {
  const auto& options = tables_[position].options;
  if (index_[position] + 1 >= options.size()) return;
  const OptionRow& row = pool.row(options[index_[position]]);
  // An option without HBM and DDR is never the largest: other storage does not count.
  if (row.storage.hbm == Bytes() && row.storage.ddr == Bytes()) return;
  heap_.push_back({row.max_storage, row.storage, position});
  std::push_heap(heap_.begin(), heap_.end());
}

void GreedyProposer::propose(std::size_t limit, OptionPool& pool, ProposalBatch& batch) {
  if (finished_ || tables_.empty() || limit == 0) return;
  if (!started_) {
    started_ = true;
    push_first_options(tables_, batch);
  }
  while (batch.size() < limit) {
    if (heap_.empty()) {
      finished_ = true;
      return;
    }
    const std::uint32_t position = heap_.front().position;
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    const ProposalChange change{position, tables_[position].options[++index_[position]]};
    batch.push_changes({&change, 1});
    offer(pool, position);
  }
}

bool GreedyProposer::feedback(const ProposalFeedback& feedback) {
  // TorchRec ignores failures and ratings of 0.
  if (!threshold_ || !feedback.outcome.feasible || feedback.outcome.rating == 0) return true;
  ++num_inferior_;
  if (feedback.outcome.rating < best_rating_) {
    best_rating_ = feedback.outcome.rating;
    num_inferior_ = 0;
  }
  finished_ = finished_ || num_inferior_ > *threshold_;
  return num_inferior_ <= *threshold_;
}

GridSearchProposer::GridSearchProposer(const ProposerSpec& spec, const OptionPool& pool) {
  for (const auto& table : pool.tables()) {
    product_ *= table.options.size();
    if (product_ > static_cast<std::uint64_t>(spec.max_proposals)) return;
  }
  tables_ = sorted_by_perf(pool, true);
  index_.assign(tables_.size(), 0);
}

// Moves on to the next combination. Returns false after the last.
bool GridSearchProposer::advance() {
  changes_.clear();
  for (std::size_t position = tables_.size(); position-- > 0;) {
    index_[position] =
        index_[position] + 1 < tables_[position].options.size() ? index_[position] + 1 : 0;
    changes_.push_back(
        {static_cast<std::uint32_t>(position), tables_[position].options[index_[position]]});
    if (index_[position] != 0) return true;
  }
  return false;
}

void GridSearchProposer::propose(std::size_t limit, OptionPool&, ProposalBatch& batch) {
  if (finished_ || tables_.empty() || limit == 0) return;
  if (!started_) {
    started_ = true;
    push_first_options(tables_, batch);
  }
  while (batch.size() < limit) {
    if (!advance()) {
      finished_ = true;
      return;
    }
    batch.push_changes(changes_);
  }
}

namespace {

constexpr std::size_t kNumTypes = EnumNames<ShardingType>::kNames.size();

struct TypeGroup {
  std::vector<OptionId> best;                // in order of the tables' first appearance
  std::vector<std::uint32_t> slot_of_table;  // ~0 = the table has not appeared
};

}  // namespace

UniformProposer::UniformProposer(const ProposerSpec& spec, const OptionPool& pool) {
  const auto score = [&](OptionId id) {
    const OptionRow& row = pool.row(id);
    return spec.use_depth ? row.max_shard_perf_ms : row.perf_ms;
  };
  std::array<TypeGroup, kNumTypes> groups;
  std::vector<std::size_t> appearance;
  for (std::size_t i = 0; i < pool.space().size(); ++i) {
    const OptionId id(i);
    const auto type = static_cast<std::size_t>(pool.row(id).sharding_type);
    TypeGroup& group = groups[type];
    if (group.slot_of_table.empty()) {
      group.slot_of_table.assign(pool.problem().tables().size(), ~std::uint32_t{0});
      appearance.push_back(type);
    }
    std::uint32_t& slot = group.slot_of_table[pool.row(id).table];
    if (slot == ~std::uint32_t{0}) {
      slot = static_cast<std::uint32_t>(group.best.size());
      group.best.push_back(id);
    } else if (score(id) < score(group.best[slot])) {
      group.best[slot] = id;
    }
  }
  for (const std::size_t type : appearance) {
    if (groups[type].best.size() == pool.tables().size()) {
      proposals_.push_back(std::move(groups[type].best));
    }
  }
}

void UniformProposer::propose(std::size_t limit, OptionPool&, ProposalBatch& batch) {
  while (next_ < proposals_.size() && batch.size() < limit)
    batch.push_full(proposals_[next_++]);
}

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The best combination of the tables so far whose HBM is in one bin.
struct Cell {
  double perf_ms = kInfinity;
  double hbm_bins = kInfinity;
};

// Bins counted from the first, for a positive size of a bin.
class BinsFromTheFirst {
 public:
  static constexpr bool kAllMustFit = false;

  explicit BinsFromTheFirst(std::size_t count) : count_(static_cast<double>(count)) {}

  bool fits(double total) const { return total < count_; }
  std::size_t at(double total) const { return static_cast<std::size_t>(total); }

 private:
  double count_;
};

// Bins counted from the last, if the reservation exceeds the HBM. The size of a bin and all totals
// are then negative. In TorchRec's lists, negative bins count from the end, and a total before the
// first bin ends the search with an IndexError.
class BinsFromTheLast {
 public:
  static constexpr bool kAllMustFit = true;

  explicit BinsFromTheLast(std::size_t count) : count_(static_cast<std::int64_t>(count)) {}

  bool fits(double total) const { return total > static_cast<double>(-count_ - 1); }
  std::size_t at(double total) const {
    const auto place = static_cast<std::int64_t>(total);
    return static_cast<std::size_t>(place < 0 ? place + count_ : place);
  }

 private:
  std::int64_t count_;
};

}  // namespace

DynamicProgrammingProposer::DynamicProgrammingProposer(const ProposerSpec& spec,
                                                       const OptionPool& pool,
                                                       const Topology& available)
    : hbm_bytes_(available.total_storage().hbm.value()),
      bin_count_(static_cast<std::size_t>(std::max<std::int64_t>(spec.hbm_bins_per_device, 1)) *
                 available.world_size()) {
  std::vector<std::uint32_t> order(pool.space().size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return pool.row(OptionId(a)).storage.hbm < pool.row(OptionId(b)).storage.hbm;
  });
  std::vector<std::uint32_t> slot(pool.problem().tables().size(), ~std::uint32_t{0});
  for (const std::uint32_t i : order) {
    const std::uint32_t table = pool.row(OptionId(i)).table;
    if (slot[table] == ~std::uint32_t{0}) {
      slot[table] = static_cast<std::uint32_t>(tables_.size());
      tables_.push_back({TableId(table), {}});
    }
    tables_[slot[table]].options.emplace_back(i);
  }
}

void DynamicProgrammingProposer::propose(std::size_t limit, OptionPool& pool,
                                         ProposalBatch& batch) {
  if (tables_.empty() || limit == 0) return;
  if (!started_) {
    started_ = true;
    push_first_options(tables_, batch);
  }
  if (!solved_ && batch.size() < limit) {
    solved_ = true;
    solve(pool);
  }
  while (next_ < proposals_.size() && batch.size() < limit)
    batch.push_full(proposals_[next_++]);
}

void DynamicProgrammingProposer::solve(const OptionPool& pool) {
  const double bin_size = static_cast<double>(hbm_bytes_) / static_cast<double>(bin_count_);
  if (bin_size > 0) solve_with(BinsFromTheFirst(bin_count_), bin_size, pool);
  if (bin_size < 0) solve_with(BinsFromTheLast(bin_count_), bin_size, pool);
}

template <class Bins>
void DynamicProgrammingProposer::solve_with(const Bins& bins, double bin_size,
                                            const OptionPool& pool) {
  std::vector<Back> back(tables_.size() * bin_count_);
  std::vector<Cell> before(bin_count_);
  std::vector<Cell> after(bin_count_);

  for (std::size_t table = 0; table < tables_.size(); ++table) {
    std::fill(after.begin(), after.end(), Cell());
    Back* const own_back = back.data() + table * bin_count_;
    const auto& options = tables_[table].options;
    bool all_fit = true;
    for (std::size_t j = 0; j < options.size(); ++j) {
      const OptionRow& row = pool.row(options[j]);
      const double hbm = static_cast<double>(row.storage.hbm.value()) / bin_size;
      const auto relax = [&](double perf_ms, double total, std::int32_t from) {
        if (!bins.fits(total)) {
          all_fit = false;
          return;
        }
        const std::size_t bin = bins.at(total);
        if (after[bin].perf_ms > perf_ms) {
          after[bin] = {perf_ms, total};
          own_back[bin] = {static_cast<std::int32_t>(j), from};
        }
      };
      if (table == 0) {
        relax(row.perf_ms, hbm, -1);
        continue;
      }
      for (std::size_t from = 0; from < bin_count_; ++from) {
        if (before[from].perf_ms < kInfinity) {
          relax(before[from].perf_ms + row.perf_ms, before[from].hbm_bins + hbm,
                static_cast<std::int32_t>(from));
        }
      }
    }
    if (Bins::kAllMustFit && !all_fit) return;
    before.swap(after);
  }
  propose_by_bin(back);
}

void DynamicProgrammingProposer::propose_by_bin(const std::vector<Back>& back) {
  for (std::size_t bin = bin_count_; bin-- > 0;) {
    auto at = static_cast<std::int32_t>(bin);
    if (back[(tables_.size() - 1) * bin_count_ + bin].option < 0) continue;
    std::vector<OptionId> proposal(tables_.size());
    for (std::size_t table = tables_.size(); table-- > 0;) {
      const Back& step = back[table * bin_count_ + static_cast<std::size_t>(at)];
      proposal[table] = tables_[table].options[static_cast<std::size_t>(step.option)];
      at = step.bin;
    }
    proposals_.push_back(std::move(proposal));
  }
}

}  // namespace shardwright::embedding
