// What best mode chooses from: the options worth considering, the room of every rank, and where
// shards may go.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/topology.h"
#include "search/embedding/option_pool.h"

namespace shardwright::embedding {

// Where an option's shards may be, ever more bound together.
enum class Reach : std::uint8_t {
  kDevice,      // every shard on any rank
  kHost,        // every shard on any rank of one host
  kWholeHosts,  // local_world_size shards in rank order on a host; the next as many on any host;
                // ...
  kAllRanks,    // shard i on rank i
};

// `count` consecutive shards of equal cost. `load` is what the rating counts: milliseconds, or
// bytes of HBM for the storage model.
struct ChoiceRun {
  std::uint32_t count = 0;
  double load = 0;
  std::int64_t hbm_bytes = 0;
  std::int64_t ddr_bytes = 0;
};

struct Choice {
  OptionId option;
  Reach reach = Reach::kDevice;
  std::uint32_t first_run = 0;
  std::uint32_t num_runs = 0;
  std::uint32_t num_shards = 0;
  double load = 0;             // over all shards
  double max_load = 0;         // of one shard
  std::int64_t hbm_bytes = 0;  // over all shards
  std::int64_t ddr_bytes = 0;
};

// Tables are numbered in proposal order. Options that another one of the same table can replace in
// every placement, at no more load and no more memory on any rank, are left out; of equal ones the
// first stays. On a single host, "one host" means every rank.
// Thread safety: immutable; const members may be called from any thread.
class ChoiceModel {
 public:
  ChoiceModel(const OptionPool& pool, const Topology& available);

  std::uint32_t world_size() const { return world_size_; }
  std::uint32_t local_world_size() const { return local_world_size_; }
  std::uint32_t num_hosts() const { return world_size_ / local_world_size_; }
  // Bytes that shards may take, by rank. May be negative: such a rank must stay empty.
  std::span<const Storage> room() const { return room_; }

  TableId table(std::size_t table) const { return pool_->tables()[table].table; }
  std::size_t num_tables() const { return first_choice_.size() - 1; }
  // All choices, table after table; `choices(table)` begin at `first_choice(table)`.
  std::span<const Choice> choices() const { return choices_; }
  std::span<const Choice> choices(std::size_t table) const {
    return std::span(choices_).subspan(first_choice_[table],
                                       first_choice_[table + 1] - first_choice_[table]);
  }
  std::uint32_t first_choice(std::size_t table) const { return first_choice_[table]; }
  std::span<const ChoiceRun> runs(const Choice& choice) const {
    return std::span(runs_).subspan(choice.first_run, choice.num_runs);
  }

 private:
  Reach reach_of(const OptionRow& row) const;
  void add(OptionId id);
  bool replaces(const Choice& a, const Choice& b) const;
  void drop_replaceable(std::uint32_t first);

  const OptionPool* pool_;
  std::uint32_t world_size_;
  std::uint32_t local_world_size_;
  bool load_is_memory_;
  std::vector<Storage> room_;
  std::vector<Choice> choices_;
  std::vector<ChoiceRun> runs_;
  std::vector<std::uint32_t> first_choice_;
};

// One choice per table and a rank per shard: what a search changes in place.
struct Allocation {
  std::vector<std::uint32_t> choice;     // by table, index into choices()
  std::vector<std::vector<Rank>> ranks;  // by table, one per shard; empty for kAllRanks
};

// The allocation as a plan, tables in proposal order.
Plan to_plan(const OptionPool& pool, const ChoiceModel& model, const Allocation& allocation);

}  // namespace shardwright::embedding
