// Allocations built from nothing: choices by priced cost, then the largest shards first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/embedding/model/context/search_context.h"
#include "search/embedding/model/rank_state/allocation_state.h"
#include "search/embedding/model/rank_state/energy_placer.h"

namespace shardwright::embedding {

// Weights of memory, and what they follow from. The square of the bytes on a rank, relative to its
// capacity, counts with this weight. A weight of zero leaves that memory out. Thread safety: a
// value.
struct EvenWeights {
  double mean_load = 0;  // of a rank, if loads are even; above zero
  PerTier<double> bytes = {};
  PerTier<double> total_bytes = {};
};

// For these choices of all tables: memory counts if they fill much of it.
EvenWeights even_weights(const SearchContext& context, std::span<const std::uint32_t> choices,
                         const ConstructParameters& parameters);

// Each shard goes to the rank whose squares and energy rise least. A block of ranks is skipped if
// its least load and bytes already cost more than a rank found before, so most shards read a few
// blocks instead of all ranks.
// Thread safety: one thread at a time. Refers to the allocation.
class EvenPlacer {
 public:
  EvenPlacer(AllocationState& state, const EvenWeights& weights,
             const ConstructParameters& parameters);

  // Adds the shard for good and returns its rank.
  Rank place(const ShardUse& use);

  // Ranks and shards read or updated so far.
  std::uint64_t work() const { return work_; }

 private:
  struct Block {
    RankLoad least;         // of what its ranks hold; the largest capacity
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

// What a choice costs before it is placed. Thread safety: a value.
struct ChoiceCost {
  MemoryPrices memory;
  double memory_factor = 1;  // on the prices of memory
  // On the load of shards on single ranks. Few large shards leave gaps on every rank, which shards
  // on all ranks do not.
  double single_factor = 1;
};

// Chooses for every table what costs least, among the choices without a shard above `shard_limit`.
// If a table has no such choice, it takes one of those whose largest shard is smallest.
// Precondition: every table has a choice.
std::vector<std::uint32_t> choose_priced(const SearchContext& context, double shard_limit,
                                         const ChoiceCost& cost);

// Places the choices of all tables: bonded units first, then choices on all ranks, on hosts, and
// single shards, each kind in descending order of cost. Tables that have ranks keep them, unless
// they are bonded. Memory may be exceeded. Adds to `work`. Returns nothing if it was stopped.
std::optional<Allocation> construct(AllocationState& state, RandomGenerator& random,
                                    Allocation made, const ConstructParameters& parameters,
                                    std::uint64_t& work, StopCheck& stopped);

}  // namespace shardwright::embedding
