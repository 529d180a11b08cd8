// Simulated annealing of an allocation, where moving shards away from an old plan has a cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/allocation_state.h"
#include "search/embedding/model/energy_placer.h"
#include "search/embedding/questions/move_costs.h"
#include "search/random.h"

namespace shardwright::embedding {

// An allocation that is changed in place, with the cost of its moves from the old plan (MoveCosts).
// A change is tentative until keep() or undo(). Functions that change the allocation return by how
// much its energy (AllocationState) plus the cost of moves rises. Refers to its arguments.
// Thread safety: one thread at a time.
class MoveState {
 public:
  MoveState(const SearchContext& context, const MoveCosts& costs, RandomGenerator& draws);

  const ChoiceModel& model() const { return loads_.model(); }
  AllocationState& loads() { return loads_; }
  const AllocationState& loads() const { return loads_; }
  const MoveCosts& costs() const { return *costs_; }
  EnergyPlacer& placer() { return placer_; }

  void assign(const Allocation& allocation);
  // Computes loads and costs again, without accumulated rounding errors.
  void recompute();
  Allocation allocation() const;

  // The cost of all moves.
  double moved() const { return moved_; }
  bool is_feasible() const { return loads_.all_good(); }

  // Moves one shard to a rank; swaps two shards of different ranks. Slots (Slot) number shards.
  double shift(std::uint32_t slot, Rank to);
  double swap(std::uint32_t a, std::uint32_t b);
  // Gives the table a choice and new ranks within the window. Each shard goes to the rank where
  // energy plus cost of moves rises least, among `breadth` random ranks and MoveCosts::holders().
  double replace(std::uint32_t table, std::uint32_t choice, std::uint32_t breadth, Window window);
  // Gives the table a choice and its ranks; `ranks` is empty if the choice is on all ranks.
  double put(std::uint32_t table, std::uint32_t choice, std::span<const Rank> ranks);
  // Gives several tables a choice and ranks at once.
  double put(std::span<const Replacement> tables);
  // Moves all tables of a unit (TableUnits) to the cheapest of `tries` random hosts or ranks.
  double replace_unit(std::span<Replacement> members, std::uint32_t tries, std::uint32_t breadth);

  void keep();
  void undo();

  std::uint64_t work() const { return placer_.work(); }

 private:
  struct NewRank {
    std::uint32_t slot;
    Rank rank;
  };

  double shard_cost(std::uint32_t slot, Rank rank) const;
  double take_away(std::uint32_t table);
  double place(std::uint32_t choice, std::uint32_t breadth, Window window,
               std::vector<Rank>& ranks);
  double place_in(std::uint32_t choice, std::uint32_t breadth, Window window,
                  std::vector<Rank>& ranks);
  double place_on_host(std::uint32_t choice, std::uint32_t breadth, std::vector<Rank>& ranks);
  double place_blocks(std::uint32_t choice, std::uint32_t breadth, Window window,
                      std::vector<Rank>& ranks);
  double block_gain(std::uint32_t choice, std::uint32_t first_shard, std::uint32_t host);
  void draw_ranks(std::uint32_t table, const ShardUse& use, std::uint32_t breadth, Window window);
  void draw_hosts(std::uint32_t table, const ShardUse& use, std::uint32_t breadth);

  AllocationState loads_;
  const MoveCosts* costs_;
  EnergyPlacer placer_;
  std::vector<double> table_cost_;  // by table
  double moved_ = 0;
  double change_ = 0;                // tentative change of moved_
  std::vector<NewRank> shifted_;     // tentative
  std::vector<Replacement> placed_;  // the first num_placed_ are tentative
  std::size_t num_placed_ = 0;
  std::vector<Rank> trial_;
  std::vector<Rank> ranks_to_try_;
  std::vector<std::uint32_t> hosts_to_try_;
  RandomGenerator* draws_;
};

enum class MovesCount : std::uint8_t {
  kInCost,      // cost = largest load + cost of moves
  kAmongEqual,  // cost = largest load; of two equal allocations the one with the lower cost
};

// An allocation that breaks no rule and fits the memory.
struct CostedAllocation {
  Allocation allocation;
  double cost = 0;
  double moved = 0;  // cost of moves
};

// Keeps the best allocation of several coolings. A cooling minimises the excess of all loads over a
// target, summed over ranks, plus the cost of moves. The target plus this sum is at least the
// largest load plus the cost of moves, and equals it if only one rank exceeds the target. Lower
// targets reduce the loads of more ranks.
// Thread safety: one thread at a time. Refers to the context and the costs.
class MoveAnnealer {
 public:
  // `home`: the old plan. Some steps return a table to its choice and ranks in `home`.
  MoveAnnealer(const SearchContext& context, const MoveCosts& costs, const Allocation& home,
               MovesCount moves_count, std::uint64_t seed, const ReplanMoveParameters& parameters);

  // Makes the allocation the best one if it is feasible, better, and its moves cost at most
  // `most_moved` of the parameters.
  void offer(const Allocation& allocation);
  // The best feasible allocation so far.
  const std::optional<CostedAllocation>& best() const { return best_; }

  struct Cooling {
    double target = 0;
    double hot = 0;  // temperatures, in units of the rating
    double cold = 0;
    double scale = 1;  // factor of the weights of excess bytes and broken rules
    std::uint64_t steps = 0;
  };
  // Runs one cooling from `start`. Ends early if the budget is interrupted or used up.
  void cool(const Allocation& start, const Cooling& cooling, const Budget& budget);

  std::uint64_t work() const { return parameters_.work_per_update * state_.work(); }

 private:
  struct Pick {
    std::uint32_t table = 0;
    std::uint32_t slot = 0;
  };

  Pick pick();
  Rank draw_busy();
  std::uint32_t draw_choice(std::uint32_t table);
  std::uint32_t draw_breadth();
  Window window_of(const Slot& slot) const;
  void begin_unit(std::uint32_t table);
  double go_home(std::uint32_t table);
  double change_choice(std::uint32_t table);
  double change_unit(std::uint32_t table);
  double shift(std::uint32_t slot);
  double shift_all(std::uint32_t table, Rank from, Rank to);
  double swap(std::uint32_t slot);
  double eject(std::uint32_t slot);
  double try_step();
  bool is_better(double load) const;
  void note_if_better();

  ReplanMoveParameters parameters_;
  const SearchContext* context_;
  const Allocation* home_;
  MovesCount moves_count_;
  RandomGenerator random_;
  MoveState state_;
  std::vector<std::vector<std::uint32_t>> fitting_;  // by table: choices that fit the memory
  std::vector<Replacement> members_;
  Rank busiest_ = 0;  // in the allocation that was last compared with best_
  std::optional<CostedAllocation> best_;
};

}  // namespace shardwright::embedding
