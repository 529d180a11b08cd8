// Checks whether the rules of a table leave its choices a place.
#pragma once

#include <cstdint>

#include "core/embedding/problem/placement_rules.h"
#include "core/embedding/problem/topology.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Whether the table's own rules let all shards of one choice be placed. Ignores memory and all
// other tables. Refers to its arguments.
// Thread safety: immutable; const members may be called from any thread.
class PlacementCheck {
 public:
  PlacementCheck(const PlacementRules& rules, const Topology& topology, TableId table,
                 const Choice& choice);

  // Return true if all shards can be placed anywhere, on this host, or on this rank. Time:
  // O(shards x hosts); O(shards^2 x ranks) if every shard has its own allowed ranks and all must be
  // on distinct ranks.
  bool is_possible() const;
  bool is_possible_on_host(std::uint32_t host) const;
  bool is_possible_on_rank(Rank rank) const;

  // The least number of ranks or hosts that the shards can lie on.
  std::uint32_t min_ranks() const;
  std::uint32_t min_hosts() const;

 private:
  bool is_allowed(std::uint32_t shard, Rank rank) const;
  template <class Test>
  bool every_set(const Test& test) const;
  bool fits_in_rank_order() const;
  bool fits_on_distinct_ranks(Rank first, std::uint32_t count) const;
  bool block_fits(std::uint32_t block, std::uint32_t host) const;
  bool blocks_fit() const;

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
