// The order in which a partitioner places the options that are not uniform.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/problem/problem.h"
#include "search/embedding/model/option_pool.h"

namespace shardwright::embedding {

// Sorts the groups of a proposal (tables of one dependency, or single tables) by descending storage
// or time. If modules are balanced, smaller modules come first. Equal groups keep proposal order. A
// proposal that differs in one table costs O(log tables) comparisons and one move of entries.
// Source: _group_and_sort_non_uniform_sharding_options,
// torchrec/distributed/planner/partitioners.py.
class GroupOrder {
 public:
  // A group is known by its first member; next_member() gives the others. A single table whose
  // equal shards may go to any device is plain: placing it reads nothing but this.
  struct Group {
    std::uint32_t first_position = 0;
    std::uint32_t num_shards = 0;  // of a plain group, 0 otherwise
    std::uint32_t run = 0;         // the cost of each
    std::uint32_t rank_slot = 0;   // where their ranks are kept
  };
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  GroupOrder(const OptionPool& pool, PartitionerSpec::SortBy sort_by, bool balance_modules);

  // Sorts the groups of a whole proposal.
  void reset(std::span<const OptionId> proposal);
  // The option at `position` has changed from `before`; `proposal` has the new one.
  void change(std::span<const OptionId> proposal, std::uint32_t position, OptionId before);

  // The options at `positions` (each once) have changed. O(groups + positions log positions): for
  // proposals that are far apart.
  void change_many(std::span<const OptionId> proposal, std::span<const std::uint32_t> positions);

  std::span<const Group> groups() const { return groups_; }
  // Returns true if the proposal may have uniform options, which are in no group.
  bool has_uniform() const { return has_dependencies_ || groups_.size() < keys_.size(); }
  // The storage of all members of a group together.
  Storage storage(const Group& group) const { return keys_[group.first_position].storage; }
  // The position of the group's member after `position`, or kNone.
  std::uint32_t next_member(std::uint32_t position) const {
    return has_dependencies_ ? next_member_[position] : kNone;
  }

 private:
  // What a group is sorted by.
  struct Key {
    Storage storage;
    double perf_ms = 0;
    std::uint32_t module_size = 0;  // 0 if modules are not balanced
  };

  bool before(const Key& a, std::uint32_t position_a, const Key& b, std::uint32_t position_b) const;
  Key key_of(OptionId id) const;
  Group group_of(std::uint32_t position, OptionId id) const;
  std::size_t find(const Key& key, std::uint32_t position) const;
  void collect(std::span<const OptionId> proposal);
  void sort(std::vector<Group>& groups) const;

  const OptionPool* pool_;
  bool by_perf_;
  bool has_dependencies_ = false;
  std::vector<std::uint32_t> module_size_;    // by table; empty if not balanced
  std::vector<std::uint32_t> dependency_of_;  // by table; kNone = alone
  std::uint32_t num_dependencies_ = 0;
  std::vector<Group> groups_;
  std::vector<Key> keys_;  // by first position
  // Scratch of change_many.
  std::vector<char> is_changed_;  // by position
  std::vector<Group> changed_;
  std::vector<Group> merged_;
  std::vector<std::uint32_t> next_member_;
};

}  // namespace shardwright::embedding
