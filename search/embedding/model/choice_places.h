// Where the shards of one choice find a place under the rules of their table.
#pragma once

#include <cstdint>

#include "core/embedding/problem/placement_rules.h"
#include "core/embedding/problem/topology.h"
#include "search/embedding/model/choice.h"

namespace shardwright::embedding {

// Memory and other tables play no part. Keeps references to what it is made of.
// Thread safety: immutable; const members may be called from any thread.
class ChoicePlaces {
 public:
  ChoicePlaces(const PlacementRules& rules, const Topology& topology, TableId table,
               const Choice& choice);

  // Whether all shards can be placed: at all, on ranks of this host alone, on this rank alone.
  // O(shards x hosts), or O(shards^2 x ranks) where shards must be on distinct ranks of their own.
  bool anywhere() const;
  bool on_host(std::uint32_t host) const;
  bool on_rank(Rank rank) const;

  // How many ranks and hosts the shards take at the least.
  std::uint32_t least_ranks() const;
  std::uint32_t least_hosts() const;

 private:
  bool admits(std::uint32_t shard, Rank rank) const;
  template <class Test>
  bool every_shard(const Test& test) const;
  bool in_rank_order() const;
  bool distinct_among(Rank first, std::uint32_t count) const;
  bool block_fits(std::uint32_t block, std::uint32_t host) const;
  bool blocks_anywhere() const;

  const PlacementRules& rules_;
  std::uint32_t world_;
  std::uint32_t local_;
  std::uint32_t hosts_;
  TableId table_;
  const Choice& choice_;
  std::uint32_t shards_;
  bool distinct_;
};

}  // namespace shardwright::embedding
