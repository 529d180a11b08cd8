// A move that pushes other tables out of the way until the energy allows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/best/moves/considered_choices.h"
#include "search/embedding/best/moves/rank_sampler.h"

namespace shardwright::embedding {

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
