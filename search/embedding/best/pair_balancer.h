// Redistributes the shards of two ranks as evenly as possible.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "search/embedding/best/best_parameters.h"
#include "search/embedding/model/allocation_state.h"
#include "search/random.h"

namespace shardwright::embedding {

// Number partitioning: compares the sorted subset sums of one half of the shards with those of the
// other half (meet in the middle).
// Source: Horowitz, Sahni 1974, "Computing partitions with applications to the knapsack problem".
// Thread safety: one thread at a time.
class PairBalancer {
 public:
  PairBalancer();

  // Redistributes the shards on both ranks that may be on either rank, or a random selection if
  // there are too many. Memory must suffice, and the larger rating of the two ranks becomes least.
  // Returns true if this rating improved; otherwise changes nothing.
  // Cost: work() grows by about four times BalanceParameters::kSubsets.
  bool improve(AllocationState& state, Rank a, Rank b, RandomGenerator& random);

  // Ranks and shards read or updated so far.
  std::uint64_t work() const { return work_; }

 private:
  struct Subset {
    ShardUse use;
    std::uint32_t members = 0;  // bit i stands for slots_[i]
  };

  void collect(const AllocationState& state, Rank rank, Rank other);
  // Lists all subsets of slots_[begin..end) by ascending load.
  void sum_subsets(const AllocationState& state, std::size_t begin, std::size_t end,
                   std::vector<Subset>& subsets);
  bool find(const AllocationState& state, Rank a, Rank b, const ShardUse& free_on_a,
            std::uint32_t& members);

  std::size_t most_shards_;
  std::vector<std::uint32_t> slots_;
  std::vector<Subset> left_;
  std::vector<Subset> right_;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::embedding
