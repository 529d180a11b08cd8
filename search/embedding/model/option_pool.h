// The options of one search as flat arrays, which the inner loops read.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <boost/container/flat_map.hpp>

#include "core/embedding/search_space.h"
#include "search/budget.h"
#include "search/executor.h"

namespace shardwright::embedding {

// The cost of one shard of a run of equal shards. One cache line.
struct alignas(64) RunCost {
  Storage storage;
  // fwd_compute, fwd_comms, bwd_compute, bwd_comms, prefetch_compute
  double perf_ms[5] = {};

  // Adds in the order of Perf::total.
  double total_ms() const { return perf_ms[0] + perf_ms[2] + perf_ms[1] + perf_ms[3] + perf_ms[4]; }
};

// The part of an option that placement reads.
struct OptionRow {
  std::uint32_t table = 0;
  std::uint32_t first_run = 0;
  std::uint32_t num_runs = 0;
  std::uint32_t num_shards = 0;
  std::uint32_t rank_slot = 0;  // where a placement begins to store the ranks of the table's shards
  PartitionBy partition_by = PartitionBy::kDevice;
  ShardingType sharding_type = ShardingType::kTableWise;
  bool equal_perf = true;       // every shard takes the same time
  bool distinct_ranks = false;  // compat mode puts every shard on a rank of its own
  Storage storage;              // over all shards
  double perf_ms = 0;           // over all shards, summed in shard order
  double max_shard_perf_ms = 0;
  Storage max_storage;  // of one shard, tier by tier
};

// A fingerprint of a set of options, independent of their order: the sum of OptionPool::token().
// Different sets have the same key with a probability of 2^-128.
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

// The options of a search space, and options that proposers add during a search, such as caches
// with another load factor. Options of the space keep their ids. Added options are interned in a
// layer over the space, so equal options have one address and one id.
// Thread safety: const members may be called from any thread while no option is added.
class OptionPool {
 public:
  // If the budget is interrupted, the pool is incomplete and must not be used.
  OptionPool(std::shared_ptr<const SearchSpace> space, Executor& executor,
             const Budget& budget = {});
  // Fills the columns on the calling thread.
  explicit OptionPool(std::shared_ptr<const SearchSpace> space);

  const Problem& problem() const { return space_->problem(); }
  const SearchSpace& space() const { return *space_; }
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

  // Options by table. Tables are in the order of first appearance in the space, options of a table
  // in the order of the space.
  struct TableOptions {
    TableId table;
    std::vector<OptionId> options;
  };
  const std::vector<TableOptions>& tables() const { return tables_; }
  // Returns true if every proposal needs less than 2^62 bytes over all tables and ranks, including
  // the weights of virtual tables, which take no memory but can be moved.
  bool totals_fit() const;
  // The largest number of shards of options that are not uniform, in one proposal and in one
  // option.
  std::uint32_t num_rank_slots() const { return num_rank_slots_; }
  std::uint32_t most_placed_shards() const { return most_placed_shards_; }

  // Returns the id of `option`. Adds it if the pool has no equal option. O(1) expected.
  OptionId intern(ShardingOption option);
  // Finds the id of an option by its address. Empty if the pool lacks the option. O(1) expected.
  std::optional<OptionId> id_of(const ShardingOption* option) const;
  // The number of options that proposers have added to the options of the space.
  std::size_t num_added() const { return options_.size() - space_->size(); }

  // Owns the options that plans of this search point to.
  std::shared_ptr<const void> owner() const { return layer_; }
  const std::vector<const ShardingOption*>& all_options() const { return options_; }

 private:
  void append(const ShardingOption& option);
  void fill(std::size_t index, const ShardingOption& option);
  void group_by_table(Executor& executor, const Budget& budget);
  void find_duplicates(const TableOptions& table);
  void assign_rank_slots();

  std::shared_ptr<const SearchSpace> space_;
  std::shared_ptr<OptionLayer> layer_;
  boost::container::flat_map<const ShardingOption*, OptionId> added_ids_;  // in the layer
  std::vector<const ShardingOption*> options_;
  std::vector<OptionRow> rows_;
  std::vector<RunCost> costs_;
  std::vector<std::uint32_t> counts_;     // shards per run
  std::vector<std::uint32_t> canonical_;  // by option: the first equal option
  std::vector<TableOptions> tables_;
  std::vector<std::uint32_t> slot_of_table_;
  std::uint32_t num_rank_slots_ = 0;
  std::uint32_t most_placed_shards_ = 0;
};

}  // namespace shardwright::embedding
