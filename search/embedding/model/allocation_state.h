// The allocation that a search changes in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/allocation.h"
#include "search/embedding/model/rank_loads.h"
#include "search/embedding/model/search_context.h"

namespace shardwright::embedding {

// One shard of a choice that is not on all ranks.
struct Slot {
  ShardUse use;
  Rank rank = 0;
  std::uint32_t position = 0;  // index in shards_on(rank)
  std::uint32_t table = 0;
};

// An allocation with the loads of its ranks. A change first alters the loads, tentatively; if it is
// kept, note_rank() or note_choice() records the new ranks of shards. An allocation is complete if
// every table has a choice and every shard a rank. The shard i of a table is in the slot
// SearchContext::first_slot(table) + i.
// Thread safety: one thread at a time. Allocates while constructed and when a rank holds more
// shards than ever before.
class AllocationState : public RankLoads {
 public:
  explicit AllocationState(const SearchContext& context);

  const SearchContext& context() const { return *context_; }
  const Slot& slot(std::uint32_t index) const { return slots_[index]; }
  std::span<const std::uint32_t> shards_on(Rank rank) const { return shards_on_[rank]; }
  bool has_choice(std::size_t table) const { return chosen_[table].choice != kNoChoice; }
  std::uint32_t choice(std::size_t table) const { return chosen_[table].choice; }
  const Choice& chosen(std::size_t table) const { return model().choices()[choice(table)]; }
  // Members of chosen(), copied for speed.
  std::uint32_t num_shards(std::size_t table) const { return chosen_[table].num_shards; }
  Reach own_reach(std::size_t table) const { return chosen_[table].reach; }
  // The reach of a shard that moves without other shards: own_reach(), restricted by the table's
  // colocation.
  Reach reach(std::size_t table) const {
    const Reach own = own_reach(table);
    const Colocation colocation = context_->units().colocation(table);
    if (colocation == Colocation::kNone) [[likely]]
      return own;
    if (colocation == Colocation::kRank) return std::max(own, Reach::kWholeHosts);
    return std::max(own, Reach::kHost);
  }

  // Tentatively removes the table's shards from their ranks. Returns the change of the energy.
  double take_away(std::size_t table);

  // Empties all ranks. No table has a choice then.
  void clear();
  // Replaces the allocation. Precondition: `allocation` is complete.
  void assign(const Allocation& allocation);
  // Computes all loads again, which removes accumulated rounding errors.
  void recompute();

  // Record new ranks of shards. Precondition: the loads were changed accordingly and kept.
  void note_rank(std::uint32_t slot, Rank rank);
  // `ranks` has one entry per shard of the choice, or none if the choice is on all ranks.
  void note_choice(std::size_t table, std::uint32_t choice, std::span<const Rank> ranks);
  // The tables that changed since the last clear_changed(), each once.
  const std::vector<std::uint32_t>& changed_tables() const { return changed_; }
  void clear_changed();
  void mark_changed(std::size_t table);
  void mark_all_changed();
  // Copies the choice and the ranks of one table.
  void copy_table(std::size_t table, Allocation& into) const;

 private:
  static constexpr std::uint32_t kNoChoice = ~std::uint32_t{0};

  // A table's choice, with copies of some members.
  struct Chosen {
    std::uint32_t choice = kNoChoice;
    std::uint32_t num_shards = 0;
    Reach reach = Reach::kDevice;
  };

  void unlist(std::uint32_t slot);

  const SearchContext* context_;
  std::vector<Slot> slots_;
  std::vector<Chosen> chosen_;                         // by table
  std::vector<std::vector<std::uint32_t>> shards_on_;  // slots, by rank
  std::vector<std::uint32_t> changed_;
  std::vector<std::uint8_t> is_changed_;  // by table
};

}  // namespace shardwright::embedding
