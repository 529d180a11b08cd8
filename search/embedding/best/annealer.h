// Simulated annealing of one allocation.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/best/best_parameters.h"
#include "search/embedding/model/allocation_state.h"
#include "search/embedding/model/energy_placer.h"
#include "search/random.h"

namespace shardwright::embedding {

// The choices that a move may give a table.
// Thread safety: one thread at a time. Refers to the allocation.
class ConsideredChoices {
 public:
  explicit ConsideredChoices(const AllocationState& state) : state_(&state) {}

  // Considers choices whose shards all rate below `rating` and whose price is low enough. The slack
  // is the price of all load and memory less that of the cheapest choices of all tables. A choice
  // may exceed the cheapest choice of its table by `part` x slack. If `part` is 1, every choice of
  // every allocation that rates below `rating` is considered. Cost: O(choices).
  void set_rating(double rating, double part = 1);

  // Tables that moves can change: with several considered choices, or not on all ranks.
  std::span<const std::uint32_t> open_tables() const { return open_tables_; }
  // The number of considered choices of the table.
  std::uint32_t count(std::size_t table) const {
    return first_considered_[table + 1] - first_considered_[table];
  }
  // Draws a considered choice of the table. Draws a second time if the first choice is `current`,
  // by default the choice in the allocation. Returns `current` if no choice is considered.
  std::uint32_t draw(std::size_t table, RandomGenerator& random) const {
    return draw(table, state_->choice(table), random);
  }
  std::uint32_t draw(std::size_t table, std::uint32_t current, RandomGenerator& random) const;

 private:
  bool may_be_below(std::uint32_t choice, double rating) const;

  const AllocationState* state_;
  std::vector<std::uint32_t> considered_;  // choices, table after table
  std::vector<std::uint32_t> first_considered_;
  std::vector<std::uint32_t> open_tables_;
  std::vector<double> least_priced_;  // by table
};

// Draws ranks for moves.
// Thread safety: one thread at a time. Refers to everything that it is given.
class RankSampler {
 public:
  RankSampler(const AllocationState& state, EnergyPlacer& placer, RandomGenerator& random,
              const MoveParameters& parameters)
      : state_(&state), placer_(&placer), random_(&random), parameters_(&parameters) {}

  // Returns the rank of the highest energy among a few random ranks.
  Rank draw_loaded();
  // Returns a rank of the window for the shard: a random rank, or the best of a few random ranks.
  Rank draw_target(const ShardUse& use, Window window);
  // Returns the number of ranks to compare for one shard of a new choice.
  std::uint32_t breadth();

 private:
  const AllocationState* state_;
  EnergyPlacer* placer_;
  RandomGenerator* random_;
  const MoveParameters* parameters_;
};

// An ejection chain: a table takes a new choice or new ranks. If the energy rises too much, tables
// on one of the affected ranks change as well, because usually a single rank lacks memory or time.
// The loads change tentatively; finish() keeps or undoes the whole chain.
// Source: Glover 1996, "Ejection chains, reference structures and alternating path methods for
// traveling salesman problems".
// Thread safety: one thread at a time. Refers to everything that it is given.
class EjectionChain {
 public:
  EjectionChain(AllocationState& state, EnergyPlacer& placer, RandomGenerator& random,
                RankSampler& sampler, const ConsideredChoices& choices,
                const MoveParameters& parameters);

  // Each begins a chain and returns the rise of the energy so far. begin_with() gives a table a
  // choice within the window. Precondition: the table was removed from the state.
  double begin_with(std::uint32_t table, std::uint32_t choice, Window window);
  // Moves the table, with this choice, and all tables bonded to it to one host or rank.
  double begin_with_unit(std::uint32_t table, std::uint32_t choice);
  // For a choice of whole hosts: moves the block of shards with `slot` to the host that begins at
  // `target`.
  double begin_with_block(std::uint32_t table, std::uint32_t slot, Rank target);

  // Ejects further tables until the energy has risen by at most `most` in all, or the chain is too
  // long. Keeps the chain only if the rise is then at most `most`. `rise`: the rise so far.
  void finish(double rise, double most);

 private:
  double eject(double rise, double most);
  Rank rank_to_relieve();
  bool draw_table_on(Rank rank, std::uint32_t& table);
  bool has_unit_of(std::uint32_t table) const;
  double append(std::uint32_t table, std::uint32_t choice);
  double append_unit(std::uint32_t table, std::uint32_t choice);
  std::span<const Replacement> links() const { return {links_.data(), length_}; }

  AllocationState* state_;
  EnergyPlacer* placer_;
  RandomGenerator* random_;
  RankSampler* sampler_;
  const ConsideredChoices* choices_;
  const MoveParameters* parameters_;
  std::vector<Replacement> links_;  // the first length_ are in use
  std::size_t length_ = 0;
};

// Simulated annealing. Moves: shift a shard to another rank, swap the ranks of two shards, eject a
// shard, move a block of shards to another host, give a table another choice, move a unit of bonded
// tables. Half of the moves begin at a rank of high energy. A move is accepted if the energy rises
// by at most the temperature times an exponentially distributed number. This is the Metropolis rule
// with the random number drawn first.
// Source: Kirkpatrick, Gelatt, Vecchi 1983, "Optimization by simulated annealing".
// Thread safety: one thread at a time. Refers to the allocation and the parameters.
class Annealer {
 public:
  Annealer(AllocationState& state, std::uint64_t key, const MoveParameters& parameters);
  Annealer(const Annealer&) = delete;
  Annealer& operator=(const Annealer&) = delete;

  // Sets the considered choices: see ConsideredChoices::set_rating(). Cost: O(choices).
  void set_choices(double rating, double part = 1) { choices_.set_rating(rating, part); }
  // Tries one move. Precondition: the allocation is complete.
  void step(double temperature);

  std::uint64_t work() const { return placer_.work(); }
  RandomGenerator& random() { return random_; }
  EnergyPlacer& placer() { return placer_; }

 private:
  // The number of precomputed random numbers, which save a logarithm per step.
  static constexpr std::size_t kThresholds = 1024;

  struct Pick {
    std::uint32_t table = 0;
    std::uint32_t slot = 0;  // of a shard; unused if the table is on all ranks
  };

  Pick pick();
  Window window_of(const Slot& slot) const;
  double least_load(std::uint32_t choice) const;
  // Each tries one move and keeps the move if the energy rises by at most `most`.
  void try_choice(std::uint32_t table, double most);
  void try_unit(std::uint32_t table, double most);
  void try_block(std::uint32_t slot, double most);
  bool moves(Rank from, Rank target, const ShardUse& use, double most);
  void try_shift(std::uint32_t slot, double most);
  void try_swap(std::uint32_t slot, double most);
  void try_ejection(std::uint32_t slot, double most);

  AllocationState* state_;
  const MoveParameters* parameters_;
  RandomGenerator random_;
  EnergyPlacer placer_;
  RankSampler sampler_;
  ConsideredChoices choices_;
  EjectionChain chain_;
  std::uint64_t far_work_;                      // work of reading a new choice from far memory
  std::array<double, kThresholds> thresholds_;  // exponentially distributed
};

}  // namespace shardwright::embedding
