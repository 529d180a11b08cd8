// A move that pushes other tables out of the way until the energy allows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/embedding/model/rank_state/allocation_state.h"
#include "search/embedding/model/rank_state/energy_placer.h"
#include "search/random.h"

namespace shardwright::embedding {

// Thread safety: one thread at a time. Refers to the allocation.
class ConsideredChoices {
 public:
  explicit ConsideredChoices(const AllocationState& state) : state_(&state) {}

  // Considers choices whose shards all rate below `rating` and that, at the context's prices, leave
  // enough load and memory for the cheapest choices of the other tables. Of what these leave, a
  // choice may take `part` more than the cheapest one of its table; with 1, none is left out that
  // an allocation below the rating may have. Cost: O(choices).
  void set_rating(double rating, double part = 1);

  // Tables with anything to decide: another choice, or ranks.
  std::span<const std::uint32_t> open_tables() const { return open_tables_; }
  // Choices of the table that are considered.
  std::uint32_t count(std::size_t table) const {
    return first_considered_[table + 1] - first_considered_[table];
  }
  // Draws a choice for the table, and a second time if it is the current one, of the allocation
  // unless told otherwise. Returns the current one if no other is considered.
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

// Thread safety: one thread at a time. Refers to everything that it is given.
class RankSampler {
 public:
  RankSampler(const AllocationState& state, EnergyPlacer& placer, RandomGenerator& random,
              const MoveParameters& parameters)
      : state_(&state), placer_(&placer), random_(&random), parameters_(&parameters) {}

  // The rank of the highest energy among a few random ones.
  Rank draw_loaded();
  // A rank of the window for the shard: any one, or the best of a few.
  Rank draw_target(const ShardUse& use, Window window);
  // How many ranks are compared for one shard of a new choice.
  std::uint32_t breadth();

 private:
  const AllocationState* state_;
  EnergyPlacer* placer_;
  RandomGenerator* random_;
  const MoveParameters* parameters_;
};

// A table takes a new choice or new ranks. If that costs too much, usually memory or time is
// missing on one rank only, and tables there change as well: an ejection chain. The loads change
// tentatively as the chain grows; finish() keeps or takes back all of it.
// Source: Glover 1996, "Ejection chains, reference structures and alternating path methods for
// traveling salesman problems".
// Thread safety: one thread at a time. Refers to everything that it is given.
class EjectionChain {
 public:
  EjectionChain(AllocationState& state, EnergyPlacer& placer, RandomGenerator& random,
                RankSampler& sampler, const ConsideredChoices& choices,
                const MoveParameters& parameters);

  // Each begins a chain and returns by how much the energy has risen so far.
  // Precondition of begin_with(): the table was taken away.
  double begin_with(std::uint32_t table, std::uint32_t choice, Window window);
  // The table, with this choice, and all tables bonded to it move as one.
  double begin_with_unit(std::uint32_t table, std::uint32_t choice);
  // The table keeps its choice; the block of one host's shards that holds `slot` goes to the host
  // whose first rank is `target`.
  double begin_with_block(std::uint32_t table, std::uint32_t slot, Rank target);

  // The energy has risen by `rise` so far. Ejects further tables until it has risen by at most
  // `most` or the chain is at its longest. Keeps the chain only if the rise is at most `most`.
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

}  // namespace shardwright::embedding
