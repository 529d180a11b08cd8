// All parameters of best mode.
//
// A comment behind a default is the mean change of ratings at fixed work, + is worse, when it is
// halved and doubled: perf/parameters/README.md.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "search/embedding/best/parameters/annealing_parameters.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/embedding/best/parameters/methods.h"
#include "search/embedding/best/parameters/neighbourhood_parameters.h"
#include "search/embedding/model/context/pricing_parameters.h"

namespace shardwright::embedding {

// How lanes share work.
// Thread safety: a value.
struct LaneParameters {
  // Lanes that anneal, and that solve neighbourhoods. Together they are as many as a tree of the
  // proof has: work for sixteen threads, and on fewer threads the rounds balance.
  std::uint32_t annealing_lanes = 14;
  std::uint32_t neighbourhood_lanes = 2;
  // Work of a lane in the first round, doubled every round up to the most. Short at first, as many
  // problems are solved soon; long later, as every round ends with a wait for the slowest lane.
  std::uint64_t first_round_work = 15'000;
  std::uint64_t most_round_work = 500'000;
  // Work of the proof, in lanes: while plans get better, once they no longer do, and after so much
  // work without a better one. A better plan makes the proof easier, so improving comes first.
  std::uint64_t proof_share = 6;
  std::uint64_t settled_proof_share = 24;
  std::uint64_t calm_proof_share = 144;
  std::uint64_t calm_work = 32'000'000;
  // The most while one lane of the proof works alone: three quarters of what the other lanes have
  // with the default number of them, since its steps take longer and two threads should both be
  // busy. With more lanes, others can take part until the tree is shared.
  std::uint64_t alone_proof_share = 12;
  // The lanes of the tree over ranks have as much together unless it is what raises the bound, or
  // this part of it while others have proved more than its open nodes show.
  std::uint64_t behind_part = 2;
  // If the bound has not risen for so much work either, and the tree over ranks does not get on,
  // the lanes share the work as before.
  std::uint64_t stuck_work = 256'000'000;
  // Rounds of lanes that start from choices that the proof suggests.
  std::uint32_t suggestion_tries = 3;
  // Suggestions that wait for a lane. Older ones are for targets that are farther from the bound.
  std::uint32_t most_suggestions = 32;
  // Plans get better if over the last 1 / recent_parts of all work the rating fell by this part of
  // its distance to the bound.
  double progress = 0.1;  // halved, doubled: 0
  // A plan that is proved within the gap still gets better, and the search goes on, while over the
  // last 1 / last_parts of all work the rating fell by this part of its distance to the bound,
  // unless the bound is so near that nothing better is left.
  std::uint64_t last_parts = 8;
  double last_progress = 0.5;
  double nothing_better = 1e-6;
  std::uint64_t recent_parts = 4;            // halved, doubled: 0

  // Lanes that look for plans.
  std::uint32_t searching() const { return annealing_lanes + neighbourhood_lanes; }
};

// A tree of the proof, the neighbourhoods and annealing need a lane each. More lanes than a search
// of ordinary length has rounds would do nothing but begin.
inline constexpr std::uint32_t kLeastLanes = 3;
inline constexpr std::uint32_t kMostLanes = 4096;
inline constexpr std::uint32_t kDefaultLanes = 32;

// What a caller chooses of a search. With the same settings and work limit the answer is the same
// for any number of threads.
// Thread safety: a value.
struct BestSettings {
  std::uint64_t seed = 0;
  std::uint32_t lanes = kDefaultLanes;  // from kLeastLanes to kMostLanes
  Methods methods;
};

// Thread safety: a value.
struct BestParameters {
  PlanMethods methods;
  PricingParameters pricing;
  LaneParameters lanes;
  AnnealingParameters annealing;
  NeighbourhoodParameters neighbourhoods;
  BoundParameters bound;
};

// The parameters for a number of lanes: half of them prove; one of eight others, but at least one,
// solves neighbourhoods, and the rest anneal. Precondition: `lanes` is at least kLeastLanes.
inline BestParameters parameters_for(std::uint32_t lanes, const Methods& methods = {}) {
  BestParameters parameters;
  parameters.methods = methods.plans;
  parameters.annealing.methods = methods.plans;
  parameters.neighbourhoods.is_on = methods.plans.neighbourhoods;
  parameters.bound.methods = methods.bound;
  if (!methods.bound.reduced_cost_fixing) parameters.bound.aggregate.max_reductions = 0;
  parameters.bound.targets.tree_lanes = lanes / 2;
  parameters.bound.ranks.lanes = std::min(parameters.bound.ranks.lanes, lanes / 2);
  const std::uint32_t searching = lanes - lanes / 2;
  parameters.lanes.neighbourhood_lanes = std::max(1U, searching / 8);
  parameters.lanes.annealing_lanes = searching - parameters.lanes.neighbourhood_lanes;
  return parameters;
}

}  // namespace shardwright::embedding
