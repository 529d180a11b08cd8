// Random changes of an allocation, accepted by what they do to its energy.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "search/embedding/model/rank_state/energy_placer.h"

namespace shardwright::embedding {

// Changes: a shard to another rank, two shards' ranks exchanged, a shard pushed on by another, a
// block of shards to another host, a table to another choice, tables kept together to another
// place. Half of them begin at a rank of high energy.
// Thread safety: one thread at a time. Refers to the loads.
class Annealer {
 public:
  Annealer(AllocationState& loads, std::uint64_t key);

  // Considers only choices that an allocation rated below `rating` may have: those whose shards are
  // all below it and, by the context's prices, leave enough for the other tables. Cost: O(choices).
  void set_choices(double rating);
  // Tries one change. Precondition: the loads hold a complete allocation.
  void step(double temperature);

  std::uint64_t work() const { return placer_.work(); }
  RandomGenerator& draws() { return draws_; }
  EnergyPlacer& placer() { return placer_; }

 private:
  struct Pick {
    std::uint32_t table = 0;
    std::uint32_t slot = 0;  // of a shard, where the table is not on all ranks
  };

  Rank pick_loaded_rank();
  Pick pick();
  Window window_of(const Slot& slot) const;
  Rank pick_target(const ShardUse& use, Window window);
  static constexpr std::size_t kLongestChain = 6;

  Rank rank_to_relieve();
  std::uint32_t next_in_chain(std::size_t length, Rank rank);
  double replace(std::size_t link, std::uint32_t table, std::uint32_t choice);
  bool in_chain_with_unit(std::size_t length, std::uint32_t table) const;
  double move_unit(std::size_t& length, std::uint32_t table, std::uint32_t choice);
  Window new_window(std::uint32_t table, std::uint32_t choice);
  double make_room(std::size_t& length, double gained, double most);
  void finish(std::size_t length, double gained, double most);
  // Each keeps a change that gains no more than `most` of energy.
  std::uint32_t pick_choice(std::size_t table);
  std::uint32_t breadth();
  double least_load(std::uint32_t choice) const;
  void try_choice(std::uint32_t table, double most);
  void try_unit(std::uint32_t table, double most);
  void try_shift(std::uint32_t slot, double most);
  void try_block(std::uint32_t slot, double most);
  void try_exchange(std::uint32_t slot, double most);
  void try_push(std::uint32_t slot, double most);

  AllocationState* loads_;
  RandomGenerator draws_;
  EnergyPlacer placer_;
  std::vector<std::uint32_t> considered_;  // choices, table after table
  std::vector<std::uint32_t> first_considered_;
  std::vector<std::uint32_t> open_tables_;  // with anything to decide
  std::vector<double> least_priced_;        // by table
  std::vector<Replacement> chain_;
  std::array<double, 1024> thresholds_;  // exponentially distributed
};

}  // namespace shardwright::embedding
