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
#include "search/embedding/model/context/pricing_parameters.h"

namespace shardwright::embedding {

// How lanes share work.
// Thread safety: a value.
struct LaneParameters {
  // Lanes that look for plans: as many as a tree of the proof has. That is work for sixteen
  // threads, and on fewer threads the rounds balance.
  std::uint32_t annealing_lanes = 16;
  // Work of a lane in the first round, doubled every round up to the most. Short at first, as many
  // problems are solved soon; long later, as every round ends with a wait for the slowest lane.
  static constexpr std::uint64_t first_round_work = 15'000;
  static constexpr std::uint64_t most_round_work = 500'000;
  // Work of the proof, in lanes: while plans get better, once they no longer do, and after so much
  // work without a better one. A better plan makes the proof easier, so improving comes first.
  static constexpr std::uint64_t proof_share = 6;
  static constexpr std::uint64_t settled_proof_share = 24;
  static constexpr std::uint64_t calm_proof_share = 144;
  std::uint64_t calm_work = 32'000'000;
  // The most while one lane of the proof works alone: three quarters of what the other lanes have
  // with the default number of them, since its steps take longer and two threads should both be
  // busy. With more lanes, others can take part until the tree is shared.
  static constexpr std::uint64_t alone_proof_share = 12;
  // If the bound has not risen for so much work either, the lanes share the work as before.
  std::uint64_t stuck_work = 256'000'000;
  // Rounds of lanes that start from choices that the proof suggests.
  std::uint32_t suggestion_tries = 3;
  // Suggestions that wait for a lane. Older ones are for targets that are farther from the bound.
  std::uint32_t most_suggestions = 32;
  // Plans get better if over the last 1 / recent_parts of all work the rating fell by this part of
  // its distance to the bound.
  static constexpr double progress = 0.1;
  // A plan that is proved within the gap still gets better, and the search goes on, while over the
  // last 1 / last_parts of all work the rating fell by this part of its distance to the bound,
  // unless the bound is so near that nothing better is left.
  static constexpr std::uint64_t last_parts = 8;
  double last_progress = 0.5;
  static constexpr double nothing_better = 1e-6;
  std::uint64_t recent_parts = 4;
};

// A tree of the proof needs a lane, and annealing two. More lanes than a search
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
  BoundParameters bound;
};

// The parameters for a number of lanes: seven of sixteen anneal, and the others prove. With half of
// them, each learns less from the same work: two large problems end 1.3 % dearer, and with a gap of
// 3.6 instead of 1.8 %. Precondition: `lanes` is at least kLeastLanes.
inline BestParameters parameters_for(std::uint32_t lanes, const Methods& methods = {}) {
  BestParameters parameters;
  parameters.methods = methods.plans;
  parameters.annealing.methods = methods.plans;
  parameters.bound.methods = methods.bound;
  if (!methods.bound.reduced_cost_fixing) parameters.bound.aggregate.max_reductions = 0;
  parameters.lanes.annealing_lanes = std::max(2U, lanes * 7 / 16);
  parameters.bound.targets.tree_lanes = lanes - parameters.lanes.annealing_lanes;
  return parameters;
}

}  // namespace shardwright::embedding
