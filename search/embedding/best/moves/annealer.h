// Random moves of an allocation, accepted by what they do to its energy.
#pragma once

#include <array>
#include <cstdint>

#include "search/embedding/best/moves/ejection_chain.h"
#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/embedding/model/rank_state/energy_placer.h"

namespace shardwright::embedding {

// Moves: shift a shard to another rank, swap the ranks of two shards, eject a shard, move a block
// of shards to another host, give a table another choice, move a unit of bonded tables. Half of
// them begin at a rank of high energy. A move is accepted if the energy rises by at most the
// temperature times an exponentially distributed number. That is the Metropolis rule with the
// random number drawn first.
// Source: Kirkpatrick, Gelatt, Vecchi 1983, "Optimization by simulated annealing".
// Thread safety: one thread at a time. Refers to the allocation and the parameters.
class Annealer {
 public:
  Annealer(AllocationState& state, std::uint64_t key, const MoveParameters& parameters);
  Annealer(const Annealer&) = delete;
  Annealer& operator=(const Annealer&) = delete;

  // Considers only choices that an allocation rated below `rating` may have, and of these the ones
  // that take no more than `part` of what it leaves. Cost: O(choices).
  void set_choices(double rating, double part = 1) { choices_.set_rating(rating, part); }
  // Tries one move. Precondition: the allocation is complete.
  void step(double temperature);

  std::uint64_t work() const { return placer_.work(); }
  RandomGenerator& random() { return random_; }
  EnergyPlacer& placer() { return placer_; }

 private:
  // Random numbers are drawn from so many that are computed once: a logarithm per step is
  // expensive.
  static constexpr std::size_t kThresholds = 1024;

  struct Pick {
    std::uint32_t table = 0;
    std::uint32_t slot = 0;  // of a shard, where the table is not on all ranks
  };

  Pick pick();
  Window window_of(const Slot& slot) const;
  double least_load(std::uint32_t choice) const;
  // Each tries one move and keeps it if the energy rises by no more than `most`.
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
  std::uint64_t far_work_;                      // of a new choice
  std::array<double, kThresholds> thresholds_;  // exponentially distributed
};

}  // namespace shardwright::embedding
