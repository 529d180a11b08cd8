// Divides the shards of two ranks anew, as evenly as can be.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/model/rank_state/allocation_state.h"
#include "search/random.h"

namespace shardwright::embedding {

// Meets in the middle: the sums of all subsets of one half of the shards, in order, against those
// of the other half (Horowitz, Sahni 1974).
// Thread safety: one thread at a time. Allocates while constructed.
class PairBalancer {
 public:
  PairBalancer();

  // Of the shards on two ranks that may be on either, as many as can be enumerated (a random
  // choice where there are more) go where the larger of the two loads becomes least and memory
  // suffices. Whether that made it less. Cost: work() rank and shard updates, about 2^12.
  bool improve(AllocationState& loads, Rank a, Rank b, RandomGenerator& draws);

  std::uint64_t work() const { return work_; }

 private:
  static constexpr std::size_t kHalf = 10;

  struct Subset {
    ShardUse use;
    std::uint32_t members = 0;
  };

  void collect(const AllocationState& loads, Rank rank, Rank other);
  void sum_subsets(const AllocationState& loads, std::size_t begin, std::size_t end,
                   std::vector<Subset>& subsets);
  bool find(const AllocationState& loads, Rank a, Rank b, const ShardUse& free_on_a,
            std::uint32_t& members);

  std::vector<std::uint32_t> slots_;
  std::vector<Subset> left_;
  std::vector<Subset> right_;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::embedding
