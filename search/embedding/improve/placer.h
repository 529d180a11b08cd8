// Puts the shards of one table where they raise the energy least.
#pragma once

#include <cstdint>
#include <vector>

#include "search/embedding/improve/random.h"
#include "search/embedding/improve/rank_loads.h"

namespace shardwright::embedding {

// Thread safety: one thread at a time. Refers to the loads and the draws.
class Placer {
 public:
  Placer(RankLoads& loads, RandomDraws& draws) : loads_(&loads), draws_(&draws) {}

  // Adds the shards of `choice`, tentatively, in shard order, each where it costs least among
  // `breadth` ranks (or hosts) from a random one on; all of them where there are no more. Sets
  // `ranks` (empty for all ranks) and returns the energy gained.
  double place(std::uint32_t choice, std::uint32_t breadth, std::vector<Rank>& ranks);
  // Takes the shards of a table away, tentatively; returns the energy gained.
  double take_away(std::size_t table);
  // Adds or removes the local_world_size shards from `first` on, one on each rank of a host.
  double add_to_host(std::span<const ShardUse> uses, Rank first_rank);

  // Rank and shard updates so far.
  std::uint64_t work() const { return work_; }
  void spend(std::uint64_t work) { work_ += work; }

 private:
  Rank cheapest_rank(const ShardUse& use, Rank first, std::uint32_t size, std::uint32_t breadth);
  double place_on_host(std::span<const ShardUse> uses, Rank first, std::uint32_t breadth,
                       std::vector<Rank>& ranks);
  double place_hosts(std::span<const ShardUse> uses, std::uint32_t breadth,
                     std::vector<Rank>& ranks);
  double place_one_host(std::span<const ShardUse> uses, std::uint32_t breadth,
                        std::vector<Rank>& ranks);

  RankLoads* loads_;
  RandomDraws* draws_;
  std::vector<Rank> trial_;
  std::uint64_t work_ = 0;
};

}  // namespace shardwright::embedding
