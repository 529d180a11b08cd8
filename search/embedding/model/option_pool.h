// The options of one search as flat columns: what the hot loops read.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/embedding/search_space.h"
#include "search/executor.h"

namespace shardwright::embedding {

// Cost of one shard of a run, as the placement loop adds it: one cache line.
struct alignas(64) RunCost {
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
  // fwd_compute, fwd_comms, bwd_compute, bwd_comms, prefetch_compute
  double perf_ms[5] = {};
  double total_ms = 0;
};

// One option, without what placement does not read.
struct OptionRow {
  std::uint32_t table = 0;
  std::uint32_t first_run = 0;
  std::uint32_t num_runs = 0;
  std::uint32_t num_shards = 0;
  std::uint32_t rank_slot = 0;  // where a placement keeps the ranks of the table's shards
  PartitionBy partition_by = PartitionBy::kDevice;
  ShardingType sharding_type = ShardingType::kTableWise;
  bool equal_perf = true;      // every shard takes the same time
  std::int64_t hbm_bytes = 0;  // over all shards
  std::int64_t ddr_bytes = 0;
  double perf_ms = 0;  // over all shards, summed in shard order
  double max_shard_perf_ms = 0;
  std::int64_t max_hbm_bytes = 0;  // of one shard
  std::int64_t max_ddr_bytes = 0;
};

// An order-independent fingerprint of a set of options: the sum of its members' tokens. Sets differ
// in it with probability 1 - 2^-128.
struct OptionSetKey {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  OptionSetKey& operator+=(const OptionSetKey& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  OptionSetKey& operator-=(const OptionSetKey& other) {
    low -= other.low;
    high -= other.high;
    return *this;
  }
  friend bool operator==(const OptionSetKey&, const OptionSetKey&) = default;
};

// The columns of a search space, plus options that proposers add while a search runs (caches scaled
// to another load factor). Ids of the space stay what they are; equal content gets one id.
// Thread safety: const members may be called from any thread while nobody adds.
class OptionPool {
 public:
  OptionPool(std::shared_ptr<const SearchSpace> space, Executor& executor);
  // On the calling thread.
  explicit OptionPool(std::shared_ptr<const SearchSpace> space);

  const Problem& problem() const { return space_->problem(); }
  const SearchSpace& space() const { return *space_; }
  const std::shared_ptr<const SearchSpace>& shared_space() const { return space_; }
  std::size_t size() const { return rows_.size(); }

  const ShardingOption& option(OptionId id) const { return *options_[id.index()]; }
  const OptionRow& row(OptionId id) const { return rows_[id.index()]; }
  std::span<const RunCost> costs(const OptionRow& row) const {
    return {costs_.data() + row.first_run, row.num_runs};
  }
  const RunCost& cost(std::uint32_t run) const { return costs_[run]; }
  const std::uint32_t* run_counts(const OptionRow& row) const {
    return counts_.data() + row.first_run;
  }
  OptionSetKey token(OptionId id) const;

  // Options grouped by table, tables in order of first appearance in the space, options of a table
  // in the order of the space.
  struct TableOptions {
    TableId table;
    std::vector<OptionId> options;
  };
  const std::vector<TableOptions>& tables() const { return tables_; }
  // Whether the storage of any proposal, summed over all tables and ranks, stays below 2^62 bytes.
  bool totals_fit() const;
  // Room that the ranks of all non-uniform options of one proposal need, and of one option.
  std::uint32_t num_rank_slots() const { return num_rank_slots_; }
  std::uint32_t most_placed_shards() const { return most_placed_shards_; }

  // The id of `option`, which is added unless an equal one exists.
  OptionId intern(ShardingOption option);

  // Keeps the options alive that plans of this search point to.
  std::shared_ptr<const void> owner() const { return layer_; }
  const std::vector<const ShardingOption*>& all_options() const { return options_; }

 private:
  // What plans keep alive: the space and what this search added to it.
  struct Layer {
    std::shared_ptr<const SearchSpace> space;
    ShardingOptionInterner added;
  };

  void append(const ShardingOption& option);
  void fill(std::size_t index, const ShardingOption& option);
  void group_by_table(Executor& executor);
  void find_duplicates(const TableOptions& table);
  void assign_rank_slots();

  std::shared_ptr<const SearchSpace> space_;
  std::shared_ptr<Layer> layer_;
  std::vector<const ShardingOption*> options_;
  std::vector<OptionRow> rows_;
  std::vector<RunCost> costs_;
  std::vector<std::uint32_t> counts_;     // shards per run
  std::vector<std::uint32_t> canonical_;  // the first option of equal content
  std::vector<TableOptions> tables_;
  std::vector<std::uint32_t> slot_of_table_;
  std::uint32_t num_rank_slots_ = 0;
  std::uint32_t most_placed_shards_ = 0;
};

}  // namespace shardwright::embedding
