// Parameters of best mode. Work is in units of Budget::spend().
//
// perf/parameters/README.md has the effect of halving and doubling the defaults.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/methods.h"
#include "search/embedding/model/priced_choices.h"

namespace shardwright::embedding {

// Thread safety: a value.
struct ConstructParameters {
  // EvenPlacer balances a memory tier only if the choices fill more than this fraction of the tier.
  double scarce_fill = 0.5;
  // Ranks per block of EvenPlacer, which skips whole blocks. Affects only the speed.
  static constexpr std::size_t kRanksPerBlock = 32;
  // Largest number of times that choices_below() chooses again.
  static constexpr int kMostAgreementRounds = 8;
  // Bisection steps for the price of memory each time, which only ranks the choices of a table.
  static constexpr int kPriceSteps = 12;
};

// Moves of the annealer. The kind of a move is drawn in sixteenths: `choice`, then `shift`, then
// `swap`, and otherwise ejection. If the sum exceeds 16, the later kinds get less. Each "one in" is
// a power of two.
// Thread safety: a value.
struct MoveParameters {
  // A shard of a new choice is tried on all ranks if there are at most `kFewRanks`. With more
  // ranks, it is tried on `kSampledRanks` random ranks, and one time in `kFullScanOneIn` on all
  // ranks, so that the cost of a step does not grow with the number of ranks.
  static constexpr std::uint32_t kFewRanks = 32;
  static constexpr std::uint32_t kSampledRanks = 12;
  static constexpr std::uint64_t kFullScanOneIn = 16;
  // Half of the moves start at the rank of the highest energy among this many random ranks.
  std::uint32_t loaded_rank_tournament = 4;
  // Half of the shifted shards go to the best of this many random ranks, the rest to any rank.
  std::uint32_t target_tournament = 4;
  // A table changes to another choice. This move costs most, because it may change every rank.
  std::uint32_t choice_sixteenths = 3;
  // One shard, or a unit of bonded tables (TableUnits), moves to another place.
  std::uint32_t shift_sixteenths = 5;
  // Two shards swap ranks. This move is the most frequent, because it fits even in full memory.
  std::uint32_t swap_sixteenths = 6;
  // One ejection chain in `long_chain_one_in` may change this many tables. All other chains may
  // change one table in addition to the move's own tables.
  std::size_t longest_chain = 6;
  std::uint64_t long_chain_one_in = 8;
  // See EnergyPlacer::new_window().
  static constexpr std::uint64_t kWholePlaceOneIn = 4;
  // Half of the moved units go to the best of this many random places, the other half to any place.
  static constexpr std::uint32_t kUnitTries = 4;
};

// The temperature of a round falls from a random start to a fixed end. The start is relative to the
// mean energy that a table adds. "squared" and "linear": see Goal.
// Thread safety: a value.
struct CoolingParameters {
  // Steps at one temperature.
  std::uint64_t steps_per_temperature = 64;
  // Steps of the first round: steps_per_table for every table, but at least least_steps.
  double least_steps = 5000;
  double steps_per_table = 100;
  // The length of a round grows by this factor, for this many rounds. Short rounds find a first
  // plan soon; long rounds find better plans.
  double growth = 1.3;
  static constexpr std::uint64_t kGrowingRounds = 20;
  // The start is between 10^-hottest and 10^-coolest. Then the temperature at the end.
  double squared_hottest = 4.5;
  double squared_coolest = 5.5;
  double squared_end = 1e-10;
  double linear_hottest = 3;
  double linear_coolest = 4;
  double linear_end = 1e-6;
  // Long rounds may start hotter: by 10^heat_per_decade for every factor of 10 by which the number
  // of steps exceeds free_steps_per_table for every table.
  double heat_per_decade = 1.5;
  double free_steps_per_table = 20;
  // If ranks differ in rules or speed, one round in `kMeltEvery` starts far hotter, between
  // 10^-melting_range and 1, because the best plan may be very different. With fewer than
  // `kFewTables` tables, one round in `kFewTablesMeltEvery` does.
  static constexpr std::size_t kFewTables = 30;
  static constexpr std::uint64_t kFewTablesMeltEvery = 2;
  static constexpr std::uint64_t kMeltEvery = 4;
  static constexpr double kMeltingRange = 2;
};

// The Goal of a round. Weights are in units of its energy.
// Thread safety: a value.
struct TargetParameters {
  // The target is rating - share x (rating - bound), with a random share. Low targets change the
  // whole plan, high targets only even out loads.
  std::array<double, 4> target_shares{1, 0.5, 0.2, 0.05};
  // Weight of memory beyond the capacity once there is a plan. The weight is small, so that a
  // search in full memory can pass through allocations that do not fit.
  double memory_weight = 0.1;
  // Weights of a broken rule once there is a plan. A round draws one of these at random.
  static constexpr std::array<double, 4> kRuleWeights{0.1, 1, 10, 100};
  // While there is no plan, the target is the bound times `kFittingTarget` plus
  // `kFittingTargetGrowth` per round, and the weight of memory grows by `kFittingWeightGrowth`
  // per round. Both grow for `kFittingRounds` rounds. A broken rule weighs `kFittingRuleWeight`
  // times the weight of memory.
  static constexpr double kFittingTarget = 1.05;
  static constexpr double kFittingTargetGrowth = 0.1;
  static constexpr double kFittingWeightGrowth = 4;
  static constexpr std::uint64_t kFittingRounds = 12;
  static constexpr double kFittingRuleWeight = 10;
};

// How a round begins if it does not continue from the best plan.
// Thread safety: a value.
struct RestartParameters {
  // Limits of the load of a shard in the first allocation, as multiples of the bound. The best
  // allocation of all limits is kept: small shards spread evenly, but cost more.
  std::array<double, 8> shard_limits{1e9, 1.02, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05};
  // If the busiest rank of the best first allocation exceeds the mean load by this factor, the
  // shards of choices on single ranks (Reach::kDevice) are too large. Bisection then finds the
  // least factor for the price of their load, up to `kMostSingleFactor`, that removes one such
  // shard from the busiest rank.
  static constexpr double kCoarseExcess = 1.05;
  static constexpr double kMostSingleFactor = 4;
  static constexpr int kSingleFactorSteps = 8;
  // The price of memory is multiplied by 1 + k x price_step, with a random k below `kPriceSteps`
  // (below `first_price_steps` the first time).
  double price_step = 0.25;
  std::uint32_t first_price_steps = 2;
  static constexpr std::uint32_t kPriceSteps = 5;
  // Weights of memory and of rules when first allocations are compared: fitting comes first.
  double memory_weight = 1000;
  static constexpr double kRuleWeight = 1000;
  // One round in this many continues from the current allocation instead of the best allocation.
  std::uint32_t keep_current_one_in = 8;

  // Rounds may start with choices_below(), because in full memory no chain of moves changes which
  // tables are on all ranks. One round in `kFarOneIn` does if the rating exceeds `kFar` times the
  // bound, and one in `kNearOneIn` if the rating exceeds `near` times the bound.
  static constexpr double kFar = 1.25;
  double near = 1.05;
  static constexpr std::uint32_t kFarOneIn = 2;
  static constexpr std::uint32_t kNearOneIn = 8;
  // If the rating exceeds only `kNearest` times the bound, one round in `kDrawnOneIn` starts with
  // random choices. All these choices together are expected to cost more than the cheapest choices
  // by `kDrawnExcess` times the distance to the bound, times the square of a random fraction.
  static constexpr double kNearest = 1.0001;
  static constexpr std::uint32_t kDrawnOneIn = 4;
  static constexpr double kDrawnExcess = 1;
  static constexpr int kDrawnSteps = 10;  // of the bisection for the temperature of the draw
  // Each draw multiplies the loads of choices by a random factor from e^-x to e^x per Reach, which
  // shifts load between single ranks, hosts and all ranks. x is `kReachSpread` times the relative
  // distance to the bound.
  static constexpr double kReachSpread = 5;
  // If memory is scarce, the `part` of ConsideredChoices::set_rating() is one of these at random.
  static constexpr std::array<double, 4> kConsideredParts{1, 1.0 / 4, 1.0 / 16, 1.0 / 64};
  // Number of targets that choices_below() tries: by bisection the first time, then at random.
  static constexpr int kFirstTargetTries = 6;
  static constexpr int kTargetTries = 3;
  // No target is below this fraction of the best rating.
  static constexpr double kLeastTarget = 1e-3;
  // The price of memory is multiplied by a random factor from 1 to 1 + target_price_spread.
  static constexpr double kTargetPriceSpread = 0.5;
  // Weight of memory and of rules in a round that starts with construct_below().
  static constexpr double kTargetWeight = 10;
  // Work of choices_below() per choice and target, in updates of a rank.
  static constexpr std::uint64_t kWorkPerChoice = 10;
};

// Parameters of PairBalancer.
// Thread safety: a value.
struct BalanceParameters {
  // Number of subsets enumerated for each half of the shards: a power of two, at most 2^15. Up to 2
  // x log2(kSubsets) = 20 shards are divided at once.
  static constexpr std::size_t kSubsets = 1024;
  // Work of pair balancing: this much times the number of earlier rounds, in every second round.
  std::uint64_t work_per_round = 50'000;
  // Pair balancing ends early after this many consecutive failed tries per rank.
  std::uint32_t vain_tries_per_rank = 4;
};

// All parameters of an AnnealingLane.
// Thread safety: a value.
struct AnnealingParameters {
  PlanMethods methods;
  MoveParameters moves;
  CoolingParameters cooling;
  TargetParameters targets;
  RestartParameters restarts;
  BalanceParameters balance;
  ConstructParameters construct;
};

// How lanes share work.
// Thread safety: a value.
struct LaneParameters {
  // Number of annealing lanes; parameters_for() sets it.
  std::uint32_t annealing_lanes = 16;
  // Work of a lane in the first round, doubled every round up to `kMostRoundWork`. Short rounds
  // suffice for many problems. Long rounds save waits for the slowest lane.
  static constexpr std::uint64_t kFirstRoundWork = 15'000;
  static constexpr std::uint64_t kMostRoundWork = 500'000;
  // Work of the proof per round, in units of an annealing lane's work: while plans get better, once
  // plans no longer get better, and after `calm_work` without a better plan. Better plans come
  // first, because they make the proof easier.
  static constexpr std::uint64_t kProofShare = 6;
  static constexpr std::uint64_t kSettledProofShare = 24;
  static constexpr std::uint64_t kCalmProofShare = 144;
  std::uint64_t calm_work = 32'000'000;
  // Limit of this work while one lane of the proof works alone, in addition to the number of
  // annealing lanes. A lower limit makes up for the longer steps of a proof.
  static constexpr std::uint64_t kAloneProofShare = 12;
  // If the bound has not risen for this much work, `kSettledProofShare` applies again.
  std::uint64_t stuck_work = 256'000'000;
  // Number of lanes that start a round from the same suggestion (SuggestedStart) of the proof.
  std::uint32_t suggestion_tries = 3;
  // Largest number of waiting suggestions. The oldest are dropped.
  std::uint32_t most_suggestions = 32;
  // Plans get better if, over the last 1 / recent_parts of all work, the rating fell by this
  // fraction of its distance to the bound.
  static constexpr double kProgress = 0.1;
  // Although the gap is proved, the search goes on while, over the last 1 / last_parts of all work,
  // the rating fell by the fraction `last_progress` of its distance to the bound. It ends if this
  // distance is below the fraction `kNothingBetter` of the rating.
  static constexpr std::uint64_t kLastParts = 8;
  double last_progress = 0.5;
  static constexpr double kNothingBetter = 1e-6;
  std::uint64_t recent_parts = 4;
};

// The proof needs at least one lane, and annealing two. With more than kMostLanes, the work of an
// ordinary search hardly suffices to begin every lane.
inline constexpr std::uint32_t kLeastLanes = 3;
inline constexpr std::uint32_t kMostLanes = 4096;
inline constexpr std::uint32_t kDefaultLanes = 32;

// Settings of a search. With the same settings and work limit, the answer is the same for any
// number of threads.
// Thread safety: a value.
struct PortfolioSettings {
  std::uint64_t seed = 0;
  std::uint32_t lanes = kDefaultLanes;  // from kLeastLanes to kMostLanes
  Methods methods;
};

// Thread safety: a value.
struct BestParameters {
  PricingParameters pricing;
  LaneParameters lanes;
  AnnealingParameters annealing;
  BoundParameters bound;
};

// Returns the parameters for a number of lanes: seven of sixteen lanes anneal, all others prove.
// Precondition: `lanes` is at least kLeastLanes.
inline BestParameters parameters_for(std::uint32_t lanes, const Methods& methods = {}) {
  BestParameters parameters;
  parameters.annealing.methods = methods.plans;
  parameters.bound.methods = methods.bound;
  if (!methods.bound.reduced_cost_fixing) parameters.bound.aggregate.max_reductions = 0;
  parameters.lanes.annealing_lanes = std::max(2U, lanes * 7 / 16);
  parameters.bound.targets.tree_lanes = lanes - parameters.lanes.annealing_lanes;
  return parameters;
}

}  // namespace shardwright::embedding
