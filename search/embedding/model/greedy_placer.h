// Greedy placement of one table in a plan.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "core/embedding/sharding_option.h"
#include "search/embedding/model/rank_loads.h"

namespace shardwright::embedding {

// Loads and memory of all ranks under a plan that changes table by table. Options need not be in
// the search space. Loads are summed in the order of changes, so ratings equal the verifier's
// ratings only up to rounding. Refers to its arguments.
// Thread safety: one thread at a time.
class PlanLoads {
 public:
  PlanLoads(const Problem& problem, const Topology& available);

  // Returns what a shard of this cost adds to a rank.
  ShardUse use_of(const ShardCost& cost) const;

  // Precondition: the ranks exist. O(shards).
  void add(const Assignment& assignment) { change(assignment, 1); }
  void remove(const Assignment& assignment) { change(assignment, -1); }

  void add(Rank rank, const ShardUse& use) { change(rank, use, 1); }
  void remove(Rank rank, const ShardUse& use) { change(rank, use, -1); }

  const RankState& rank(Rank rank) const { return ranks_[rank]; }
  std::uint32_t world_size() const { return static_cast<std::uint32_t>(ranks_.size()); }
  // The rating of the rank: its load, scaled by the rank's time factor.
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
  std::span<const double> time_factors_;  // by rank; empty if all are 1
  std::vector<RankState> ranks_;
};

// How bad a placement is, compared in this order: bytes that do not fit, the largest rating of the
// ranks that it uses, total time in ms.
using Badness = std::tuple<std::int64_t, double, double>;

// What a placement respects in addition to the table's own rules.
struct PlacementView {
  bool memory = true;              // if false, memory is ignored
  const RankSet* ranks = nullptr;  // the only ranks to use; nullptr = all
};

// Places each shard of an option on the rank (or host) that gives the least Badness; the smaller
// number wins ties. Optimal if all shards cost the same, or if the sharding type leaves only one
// rank or host to choose. Unlike EnergyPlacer, compares all ranks and draws no random numbers,
// because answers to questions must not depend on a seed. Refers to its arguments.
// Thread safety: one thread at a time.
class GreedyPlacer {
 public:
  GreedyPlacer(const Problem& problem, const Topology& available, const ShardingOption& option,
               PlanLoads& loads, PlacementView view = {});

  // Adds the shards to the loads and returns their ranks. If some shard has no rank, returns no
  // ranks and leaves the loads unchanged. Cost: O(shards x ranks).
  std::vector<Rank> place();
  void take_back(const std::vector<Rank>& ranks);

  // The badness of the ranks that place() returned. Precondition: the loads include the shards.
  Badness badness(const std::vector<Rank>& ranks) const;

 private:
  std::uint32_t world() const { return available_.world_size(); }
  std::uint32_t local() const { return available_.local_world_size(); }

  std::int64_t excess_bytes(Rank rank) const {
    return view_.memory ? loads_.excess_bytes(rank) : 0;
  }
  bool is_allowed(std::size_t shard, Rank rank) const;
  std::vector<Rank> place_in_order(Rank first);
  std::vector<std::size_t> order(Rank first, std::uint32_t count) const;
  std::optional<Rank> best_rank(std::size_t shard, Rank first, std::uint32_t count,
                                const std::vector<Rank>& taken);
  std::vector<Rank> place_in_window(Rank first, std::uint32_t count);
  std::vector<Rank> place_on_best_host();
  std::vector<Rank> place_on_whole_hosts();
  std::optional<Badness> try_host(Rank first, const std::vector<Rank>& taken);

  const Problem& problem_;
  const Topology& available_;
  const ShardingOption& option_;
  PlanLoads& loads_;
  PlacementView view_;
  std::vector<ShardUse> uses_;  // by shard
  double time_ms_ = 0;          // of all shards
};

}  // namespace shardwright::embedding
