// The Lagrangian function over single ranks.
#pragma once

#include <cstddef>
#include <vector>

#include "core/embedding/bound/pricing/capacity_multipliers.h"
#include "search/embedding/best/bound/ranks/rank_domain.h"
#include "search/embedding/best/bound/ranks/rank_model.h"

namespace shardwright::embedding {

// At multipliers of every rank, what choices cost: each shard on its cheapest rank, and one on
// every rank that the choice holds. Of a choice that uses ranks alike, the smallest shard is
// everywhere, and larger ones are where their difference is cheapest.
// Thread safety: immutable. Refers to its arguments.
class RankCosts {
 public:
  RankCosts(const RankModel& model, const std::vector<CapacityMultipliers>& multipliers);

  // Infinite if the choice has no place.
  double cost_of(const RankChoice& choice, const RankPlaces& places) const;
  // No plan of the domain rates below this. O(open choices x ranks).
  double bound(const RankDomain& domain) const { return bound(costs_of(domain)); }
  // Removes the choices and the ranks that no plan below the target has. Returns true if there was
  // any.
  bool remove_dear(double target, RankDomain& domain) const;

 private:
  std::vector<double> costs_of(const RankDomain& domain) const;
  double least_of(std::size_t table, const std::vector<double>& costs) const;
  double bound(const std::vector<double>& costs) const;
  ClassSet affordable_ranks(const RankChoice& choice, const RankPlaces& own, double most) const;
  double at(const RankShards& shards, ClassSet may, std::size_t rank) const;
  double on_hosts(const RankChoice& choice, const RankPlaces& places) const;
  double extras_within(const RankChoice& choice, ClassSet ranks) const;
  double within(const RankChoice& choice, const RankPlaces& places, ClassSet ranks) const;

  const RankModel& model_;
  const std::vector<CapacityMultipliers>& multipliers_;
  double capacity_ = 0;  // of all memory
};

}  // namespace shardwright::embedding
