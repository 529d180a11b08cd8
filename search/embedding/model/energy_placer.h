// Places shards where they raise the energy least, among a sample of ranks.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/model/allocation_state.h"
#include "search/random.h"

namespace shardwright::embedding {

// The ranks [first, first + size): all ranks, those of a host, or a single rank.
struct Window {
  Rank first = 0;
  std::uint32_t size = 0;
};

// A table's new choice and ranks, which AllocationState::note_choice() has not recorded yet.
struct Replacement {
  std::uint32_t table = 0;
  std::uint32_t choice = 0;
  std::vector<Rank> ranks;
};

// Places the shards of a table or of a unit (TableUnits). Refers to its arguments.
// Thread safety: one thread at a time.
class EnergyPlacer {
 public:
  EnergyPlacer(AllocationState& loads, RandomGenerator& draws) : loads_(&loads), draws_(&draws) {}

  // Tentatively adds the shards of `choice`, in shard order. Each shard goes where the energy rises
  // least, among `breadth` random ranks (or hosts) of the window. Sets `ranks` by shard, empty for
  // a choice on all ranks. Returns the rise of the energy.
  double place(std::uint32_t choice, std::uint32_t breadth, std::vector<Rank>& ranks,
               Window window);
  // Places all tables of a unit, with the choices in `members`, on the cheapest of `tries` random
  // hosts (or ranks). Sets the ranks of `members`. Returns the rise of the energy.
  double place_unit(std::span<Replacement> members, std::uint32_t tries, std::uint32_t breadth);

  Window all_ranks() const { return {0, loads_->model().world_size()}; }
  // The window in which the table may move alone, without its unit. Precondition: it has a choice.
  Window own_window(std::size_t table) const;
  // The window for a new choice of the table: own_window(), or, one time in `kWholePlaceOneIn`
  // for a table with placement rules, one random host or rank. Otherwise the cheapest ranks would
  // too often be those that the table has left.
  Window new_window(std::uint32_t table, std::uint32_t choice, std::uint64_t whole_place_one_in);
  // Draws a rank of the window that the shard's rules allow, or any rank if they allow none.
  Rank draw_rank(const ShardUse& use, Window window);
  // Draws a host with a rank that the shard's rules allow, or any host if there is none.
  std::uint32_t draw_host(const ShardUse& use);
  // Calls AllocationState::take_away() and counts its work.
  double take_away(std::size_t table);
  // Adds one shard to each rank of the host that begins at `first_rank`.
  double add_to_host(std::span<const ShardUse> uses, Rank first_rank);

  // Ranks and shards read or updated so far.
  std::uint64_t work() const { return work_; }
  void spend(std::uint64_t work) { work_ += work; }

 private:
  Window host_of(Rank rank) const;
  Rank cheapest_rank(const ShardUse& use, Window window, std::uint32_t breadth);
  Rank cheapest_for_part(std::span<const Replacement> members, std::uint32_t part, Window window,
                         std::uint32_t breadth);
  double place_unit_in(std::span<Replacement> members, Window window, std::uint32_t breadth);
  double place_in(std::span<const ShardUse> uses, Window window, std::uint32_t breadth,
                  std::vector<Rank>& ranks);
  double place_hosts(std::span<const ShardUse> uses, std::uint32_t breadth,
                     std::vector<Rank>& ranks, Window window);
  double place_one_host(std::span<const ShardUse> uses, std::uint32_t breadth,
                        std::vector<Rank>& ranks);

  AllocationState* loads_;
  RandomGenerator* draws_;
  std::vector<Rank> trial_;
  std::vector<std::vector<Rank>> best_of_unit_;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::embedding
