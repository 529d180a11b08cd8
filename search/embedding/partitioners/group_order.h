// The order in which a partitioner places what is not uniform.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/problem.h"
#include "search/embedding/option_pool.h"

namespace shardwright::embedding {

// Sorts the groups of a proposal (tables of one dependency, or single tables) by descending storage
// or time, smaller modules first where modules are balanced; equal groups keep proposal order.
// A proposal that differs in one table costs O(log tables) comparisons and one move of entries.
// Source: _group_and_sort_non_uniform_sharding_options, torchrec/distributed/planner/partitioners.py.
class GroupOrder {
 public:
  // One group, by its first member; further members through next_member().
  struct Group {
    std::int64_t hbm_bytes = 0;
    std::int64_t ddr_bytes = 0;
    double perf_ms = 0;
    std::uint32_t module_size = 0;  // 0 where modules are not balanced
    std::uint32_t first_position = 0;
    OptionId option;  // of the first member
    // Of a single table whose equal shards go to any device, what placing them reads: the run of
    // its cost and where its ranks are kept. Otherwise num_shards is 0.
    std::uint32_t num_shards = 0;
    std::uint32_t run = 0;
    std::uint32_t rank_slot = 0;
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  GroupOrder(const OptionPool& pool, PartitionerSpec::SortBy sort_by, bool balance_modules);

  // Sorts the groups of a whole proposal.
  void reset(std::span<const OptionId> proposal);
  // The option at `position` of the proposal changes from `before`; `proposal` is as it is after.
  void change(std::span<const OptionId> proposal, std::uint32_t position, OptionId before);

  std::span<const Group> groups() const { return groups_; }
  // The position of the group's member after `position`, or kNone.
  std::uint32_t next_member(std::uint32_t position) const {
    return has_dependencies_ ? next_member_[position] : kNone;
  }

 private:
  bool before(const Group& a, const Group& b) const;
  Group single(std::uint32_t position, OptionId id) const;
  void collect_dependencies(std::span<const OptionId> proposal);

  const OptionPool* pool_;
  bool by_perf_;
  bool has_dependencies_ = false;
  std::vector<std::uint32_t> module_size_;    // by table; empty where not balanced
  std::vector<std::uint32_t> dependency_of_;  // by table; kNone = alone
  std::uint32_t num_dependencies_ = 0;
  std::vector<Group> groups_;
  std::vector<std::uint32_t> next_member_;
};

}  // namespace shardwright::embedding
