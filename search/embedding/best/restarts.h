// New allocations: choices by priced cost, then placement with the largest shards first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/annealer.h"
#include "search/embedding/best/best_parameters.h"
#include "search/embedding/best/incumbent.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/allocation_state.h"
#include "search/embedding/model/energy_placer.h"
#include "search/embedding/model/priced_choices.h"
#include "search/embedding/model/search_context.h"

namespace shardwright::embedding {

// Weights for even placement. `bytes` weights the square of the bytes on a rank, relative to its
// capacity; a tier of weight zero does not count.
// Thread safety: a value.
struct EvenWeights {
  double mean_load = 0;  // of a rank, if loads are even; above zero
  PerTier<double> bytes = {};
  PerTier<double> total_bytes = {};
};

// Returns the weights for `choices`, one per table. A tier counts if the choices fill much of it.
EvenWeights even_weights(const SearchContext& context, std::span<const std::uint32_t> choices,
                         const ConstructParameters& parameters);

// Places each shard on the rank whose weighted squares (EvenWeights) and energy rise least. A block
// of ranks is skipped if its least load and bytes already cost more than the best rank so far, so
// most shards read a few blocks instead of all ranks.
// Thread safety: one thread at a time. Refers to the allocation.
class EvenPlacer {
 public:
  EvenPlacer(AllocationState& state, const EvenWeights& weights,
             const ConstructParameters& parameters);

  // Adds the shard to the state and returns its rank.
  Rank place(const ShardUse& use);

  // Ranks and shards read or updated so far.
  std::uint64_t work() const { return work_; }

 private:
  struct Block {
    RankLoad least;         // the least that a rank holds, and the largest capacity
    double scale = 0;       // the least
    double least_rise = 0;  // for the current shard
  };

  Rank first_of(std::size_t block) const { return static_cast<Rank>(block * block_size_); }
  Rank end_of(std::size_t block) const;
  void summarize(std::size_t block);
  double least_rise(const Block& block, const ShardUse& use) const;
  void look_into(std::size_t block, const ShardUse& use, Rank& best, double& least);
  double squares_rise(const RankLoad& at, double load, const ShardUse& use) const;

  AllocationState* state_;
  std::size_t block_size_;
  double load_weight_;
  PerTier<double> weights_;
  std::vector<Block> blocks_;
  std::uint64_t work_;
};

// The prices of a choice before its placement. Thread safety: a value.
struct ChoiceCost {
  MemoryPrices memory;
  double memory_factor = 1;  // on the prices of memory
  // Factor on the load of choices that are not on all ranks: a few large shards leave gaps.
  double single_factor = 1;
};

// Returns for every table the cheapest choice without a shard of more load than `shard_limit`. A
// table without such a choice takes a choice whose largest shard is smallest.
// Precondition: every table has a choice.
std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const ChoiceCost& cost);

// Places the choices of `made`: bonded units first, then choices on all ranks, on hosts, and single
// shards, each kind by descending size. Tables that have ranks keep them, unless they are bonded.
// Memory may be exceeded. Adds to `work`. Returns nothing if stopped.
std::optional<Allocation> construct(AllocationState& state, RandomGenerator& random,
                                    Allocation made, const ConstructParameters& parameters,
                                    std::uint64_t& work, StopCheck& stopped);

// Returns the cheapest choices of all tables at `price_factor` times the prices of memory at which
// the choices just fit. Every other shard must fit beside the choices on all ranks, so the tables
// choose again until choices on all ranks need no more room than was left for them. Returns nothing
// if that never happens, or if the choices need more load than all ranks have below the target: an
// allocation below the target is then unlikely. Also returns nothing if the budget (may be null) is
// interrupted. Time: O(choices) for each of a few hundred prices.
std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor,
                                                        const ConstructParameters& parameters = {},
                                                        const Budget* budget = nullptr);

// Three kinds of new allocations: the first one of the lane, one with choices for a target far
// below the best rating, and, near the bound, one with random choices.
// Thread safety: one thread at a time. Refers to everything that it is given.
class Restarts {
 public:
  Restarts(AllocationState& state, Annealer& annealer, const Incumbent& incumbent,
           const AnnealingParameters& parameters)
      : state_(&state), annealer_(&annealer), incumbent_(&incumbent), parameters_(&parameters) {}

  // Constructs several allocations, with different limits of shard size, and leaves the one with
  // the least energy on its worst rank in the state. Returns false if the budget was interrupted
  // before there was an allocation; the state is then empty.
  bool construct_first(double bound, std::uint64_t round, const Budget& budget);

  // The next round starts from this suggestion.
  void suggest(SuggestedStart suggested) { suggested_ = std::move(suggested); }
  bool has_suggestion() const { return suggested_.has_value(); }

  // Returns true if the round starts with construct_below(): always with a suggestion, otherwise
  // depending on ratings, the lane and the round.
  bool begins_below(double bound, std::uint32_t lane, std::uint64_t round);
  // Leaves an allocation for a low target in the state and returns the target. A suggestion sets
  // the target. Otherwise it is the lowest target found for which there are choices (in the first
  // call) or a random one (later). Near the bound the choices are random. If no target that was
  // tried has choices, or if the budget is interrupted, changes nothing and returns 0.
  double construct_below(double bound, const Budget& budget);

 private:
  struct Start;
  struct Evenness;

  Evenness evenness_of(const Allocation& made) const;
  std::optional<Evenness> attempt(Start& start, double limit, const ChoiceCost& cost,
                                  StopCheck& stopped);
  void remove_last_single(Start& start, ChoiceCost cost, StopCheck& stopped);

  // The best rating as a multiple of the bound, or of `unlikely_` if that is higher.
  double above_bound(double bound) const;
  std::vector<std::uint32_t> draw_choices(double limit, const MemoryPrices& prices, double bound,
                                          const Budget& budget);
  double place(Allocation start, double target, StopCheck& stopped);

  AllocationState* state_;
  Annealer* annealer_;
  const Incumbent* incumbent_;
  const AnnealingParameters* parameters_;
  double unlikely_ = 0;  // choices_below() finds no choices up to this rating; 0 = not tried yet
  std::optional<SuggestedStart> suggested_;
};

}  // namespace shardwright::embedding
