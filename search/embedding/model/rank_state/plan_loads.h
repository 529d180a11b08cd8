// The ranks under a plan that is changed table by table.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/model/rank_state/rank_state.h"

namespace shardwright::embedding {

// For options of any origin: those of the search space, excluded ones, and those of an old plan.
// Loads are summed in the order of changes, so ratings equal those of the verifier only up to
// rounding. Refers to its arguments.
// Thread safety: one thread at a time.
class PlanLoads {
 public:
  PlanLoads(const Problem& problem, const Topology& available);

  // What a shard of this cost adds to a rank.
  ShardUse use_of(const ShardCost& cost) const;

  // Precondition: the ranks exist. O(shards).
  void add(const Assignment& assignment) { change(assignment, 1); }
  void remove(const Assignment& assignment) { change(assignment, -1); }

  void add(Rank rank, const ShardUse& use) { change(rank, use, 1); }
  void remove(Rank rank, const ShardUse& use) { change(rank, use, -1); }

  const RankState& rank(Rank rank) const { return ranks_[rank]; }
  std::uint32_t world_size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  // The load of the rank as it counts in the rating, at the rank's speed.
  double rating(Rank rank) const {
    return time_factors_.empty() ? ranks_[rank].load : ranks_[rank].load * time_factors_[rank];
  }
  std::int64_t excess_bytes(Rank rank) const { return ranks_[rank].excess_bytes(); }

  // The largest of the ranks' ratings, and the sum of their excess bytes. O(ranks).
  double rating() const;
  std::int64_t excess_bytes() const;

 private:
  void change(const Assignment& assignment, int sign);
  void change(Rank rank, const ShardUse& use, int sign) {
    ranks_[rank].change(sign, use.load, use.storage);
  }

  bool memory_is_load_;
  std::span<const double> time_factors_;  // by rank; empty where all are 1
  std::vector<RankState> ranks_;
};

}  // namespace shardwright::embedding
