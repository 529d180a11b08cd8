// Places single shards so that load and scarce memory both stay even.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/embedding/best/choices/even_weights.h"
#include "search/embedding/best/parameters/construct_parameters.h"
#include "search/embedding/model/rank_state/allocation_state.h"

namespace shardwright::embedding {

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

}  // namespace shardwright::embedding
