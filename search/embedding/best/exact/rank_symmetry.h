// Symmetry breaking: which ranks are interchangeable for everything that is still to be placed.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "search/embedding/model/rank_state/rank_loads.h"

namespace shardwright::embedding {

// Two ranks are twins if swapping everything that is yet to be placed on them changes nothing: they
// hold the same, and if a choice is bound to hosts, so do their hosts. A search needs to try only
// the first of several twins.
// Thread safety: one thread at a time. Refers to the loads.
class RankSymmetry {
 public:
  explicit RankSymmetry(const RankLoads& loads);

  // For a subproblem that places these choices on ranks of the window and, if a choice is on all
  // ranks, on the others as well. `ruled`: placement rules distinguish ranks, so there are no
  // twins. `hosts_apart`: single shards must stay on their host, so ranks of different hosts are no
  // twins.
  void begin(std::span<const Rank> window, std::span<const std::uint32_t> choices, bool ruled,
             bool hosts_apart);

  // Precondition: ranks of the window. O(1), or O(ranks of a host) if a choice is bound to hosts.
  bool are_twins(Rank a, Rank b) const;
  bool are_twin_hosts(std::uint32_t a, std::uint32_t b) const;

 private:
  void split(std::span<const Rank> window);
  bool hold_the_same(Rank a, Rank b) const;

  const RankLoads* loads_;
  std::vector<std::uint32_t> class_;  // by rank; outside the window each its own
  std::vector<std::uint32_t> key_;    // by rank, scratch
  std::vector<Rank> order_;           // scratch
  bool hosts_matter_ = false;
  bool hosts_apart_ = false;
};

}  // namespace shardwright::embedding
