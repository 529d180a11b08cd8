// Simulated annealing over choices alone: ranks follow from them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/choices/list_placer.h"
#include "search/embedding/best/moves/considered_choices.h"
#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/random.h"

namespace shardwright::embedding {

// Moves of an allocation that is complete cannot replace the choices of several tables at once: a
// table that leaves single ranks for all ranks of a host overloads each of them until others have
// moved. Here a move replaces the choices and hosts of one or two tables, and list scheduling
// places all shards anew.
// Thread safety: one thread at a time. Refers to the context and the parameters.
class ChoiceAnnealer {
 public:
  ChoiceAnnealer(const SearchContext& context, const AnnealingParameters& parameters);

  // Returns false where list scheduling does not apply (placement rules) or where so many tables
  // and ranks would leave it too few moves.
  bool is_useful() const { return moves_per_table_ > 0; }

  // An allocation with choices that serve the target better than those given: the best that a
  // schedule of moves finds. It ends early if all loads are below the target and everything fits.
  // Temperatures fall with the distance from `rating`, the best one known, to the target. If it is
  // stopped, what it returns is complete, too. Precondition: is_useful().
  Allocation improve(const std::vector<std::uint32_t>& choices, const ConsideredChoices& considered,
                     double rating, double target, RandomGenerator& random, StopCheck& stopped);

  std::uint64_t work() const { return placer_ ? placer_->work() : 0; }

 private:
  // What a move exchanged.
  struct Change {
    std::uint32_t table = 0;
    PlacedChoice other;
  };

  std::vector<std::uint32_t> open_tables(const ConsideredChoices& considered) const;
  void change(std::uint32_t table, const ConsideredChoices& considered, RandomGenerator& random);
  void take_back();

  const SearchContext* context_;
  const AnnealingParameters* parameters_;
  double moves_per_table_ = 0;
  std::optional<ListPlacer> placer_;
  std::vector<Change> changes_;  // of the present move
};

}  // namespace shardwright::embedding
