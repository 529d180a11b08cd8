// New allocations, from which rounds of annealing start.
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

// Weights of EvenPlacer. `bytes` weights (bytes on a rank / its capacity)^2; a tier of weight 0
// does not count. `total_bytes`: of all choices.
// Thread safety: a value.
struct EvenWeights {
  double mean_load = 0;  // load of a rank if loads are even; above 0
  PerTier<double> bytes = {};
  PerTier<double> total_bytes = {};
};

// Returns the weights for `choices`, by table. A tier counts if the choices fill much of it.
EvenWeights even_weights(const SearchContext& context, std::span<const std::uint32_t> choices,
                         const ConstructParameters& parameters);

// Places each shard on the rank where the sum of weighted squares (EvenWeights) and energy rises
// least. Skips a block of ranks if a lower bound of the rise exceeds the best rise so far.
// Thread safety: one thread at a time. Refers to the allocation.
class EvenPlacer {
 public:
  EvenPlacer(AllocationState& state, const EvenWeights& weights);

  // Adds the shard to the state and returns its rank.
  Rank place(const ShardUse& use);

  // Ranks and shards read or updated so far.
  std::uint64_t work() const { return work_; }

 private:
  struct Block {
    RankLoad least;         // least load and bytes, largest capacity of a rank
    double scale = 0;       // least scale of a rank
    double least_rise = 0;  // lower bound for the current shard
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

// Prices that determine the cost of a choice. Thread safety: a value.
struct ChoiceCost {
  MemoryPrices memory;
  double memory_factor = 1;  // factor on the prices of memory
  // Factor on the load of choices that are not on all ranks, because few large shards are uneven.
  double single_factor = 1;
};

// Returns for every table the cheapest choice whose shards have at most the load `shard_limit`, or
// else the choice with the smallest largest shard.
// Precondition: every table has a choice.
std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const ChoiceCost& cost);

// Gives the shards of `made` ranks: bonded units first, then choices on all ranks, on hosts, and on
// single ranks, each kind by descending size. Tables with ranks keep these, unless they are bonded.
// May exceed the memory. Adds to `work`. Returns nothing if stopped.
std::optional<Allocation> construct(AllocationState& state, RandomGenerator& random,
                                    Allocation made, const ConstructParameters& parameters,
                                    std::uint64_t& work, StopCheck& stopped);

// Returns the cheapest choice of every table at `price_factor` times the prices of memory at which
// the choices just fit. All other shards must fit beside the choices on all ranks, so tables choose
// again until the choices on all ranks need no more room than was left for them. Returns nothing if
// this never happens, or if the choices have more load than all ranks can have below the target, so
// that an allocation below the target is unlikely. Also returns nothing if the budget (may be null)
// is interrupted. Time: O(choices) for each of a few hundred prices.
std::optional<std::vector<std::uint32_t>> choices_below(const SearchContext& context, double target,
                                                        double price_factor,
                                                        const Budget* budget = nullptr);

// Makes new allocations: the lane's first allocation, allocations with choices for a low target,
// and, near the bound, allocations with random choices.
// Thread safety: one thread at a time. Refers to everything that it is given.
class Restarts {
 public:
  Restarts(AllocationState& state, Annealer& annealer, const Incumbent& incumbent,
           const AnnealingParameters& parameters)
      : state_(&state), annealer_(&annealer), incumbent_(&incumbent), parameters_(&parameters) {}

  // Constructs several allocations, with different limits of the size of shards. Leaves in the
  // state the allocation whose worst rank has the least energy. If the budget is interrupted before
  // there is an allocation, returns false and leaves the state empty.
  bool construct_first(double bound, std::uint64_t round, const Budget& budget);

  // Sets the suggestion from which the next round starts.
  void suggest(SuggestedStart suggested) { suggested_ = std::move(suggested); }
  bool has_suggestion() const { return suggested_.has_value(); }

  // Returns true if the round starts with construct_below(): always with a suggestion, otherwise
  // depending on ratings, the lane and the round.
  bool begins_below(double bound, std::uint32_t lane, std::uint64_t round);
  // Leaves an allocation for a low target in the state and returns the target. With a suggestion,
  // this is the suggestion's target. Otherwise it is the lowest target found with choices_below()
  // in the first call, and a random target later. Near the bound, the choices are random. If no
  // target has choices, or if the budget is interrupted, changes nothing and returns 0.
  double construct_below(double bound, const Budget& budget);

 private:
  struct Start;
  struct Evenness;

  Evenness evenness_of(const Allocation& made) const;
  std::optional<Evenness> attempt(Start& start, double limit, const ChoiceCost& cost,
                                  StopCheck& stopped);
  void remove_last_single(Start& start, ChoiceCost cost, StopCheck& stopped);

  // The best rating divided by the bound, or by `unlikely_` if this is higher.
  double above_bound(double bound) const;
  std::vector<std::uint32_t> draw_choices(double limit, const MemoryPrices& prices, double bound,
                                          const Budget& budget);
  double place(Allocation start, double target, StopCheck& stopped);

  AllocationState* state_;
  Annealer* annealer_;
  const Incumbent* incumbent_;
  const AnnealingParameters* parameters_;
  double unlikely_ = 0;  // choices_below() fails up to this rating; 0 = not tried yet
  std::optional<SuggestedStart> suggested_;
};

}  // namespace shardwright::embedding
