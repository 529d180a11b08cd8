// Which ranks and hosts can change places without making a plan valid or invalid.
#pragma once

#include <cstdint>
#include <vector>

#include "core/embedding/problem/topology.h"
#include "core/embedding/search_space.h"

namespace shardwright::embedding {

// Two ranks of a host are alike if they have the same memory, if every rule allows both or neither,
// and if every option that fixes the rank of a shard puts shards of equal size on both. Two hosts
// are alike if their ranks are, in order.
// Thread safety: immutable.
class InterchangeableRanks {
 public:
  // O(options x ranks + rules x ranks).
  InterchangeableRanks(const SearchSpace& space, const Topology& available);

  // Ranks with equal numbers, on one host, are alike.
  std::uint32_t kind_of_rank(Rank rank) const { return kind_of_rank_[rank]; }
  std::uint32_t kind_of_host(std::uint32_t host) const { return kind_of_host_[host]; }

 private:
  std::vector<std::uint32_t> kind_of_rank_;
  std::vector<std::uint32_t> kind_of_host_;
};

}  // namespace shardwright::embedding
