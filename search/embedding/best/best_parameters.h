// Parameters of simulated annealing: its moves, its temperatures, and how rounds begin.
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
  // A memory tier counts in the placement of a shard only if the choices fill more than this
  // fraction of the tier: a tier that is far from full does not run short.
  double scarce_fill = 0.5;
  // Ranks per block. A block is skipped if its least load and bytes cost too much. Affects speed
  // only.
  static constexpr std::size_t ranks_per_block = 32;
  // Choices on all ranks leave less room for the others. choices_below() chooses again until
  // choices on all ranks need no more room than was left for them, at most this often.
  static constexpr int most_agreement_rounds = 8;
  // Bisection steps of the price of memory in every such round. The price needs only enough
  // precision to rank the choices of a table.
  static constexpr int price_steps = 12;
};

// One step of the annealer. The kind of a move is drawn in sixteenths: `choice`, then `shift`, then
// `swap`; the rest are ejections. If the sum exceeds 16, the later kinds get less. Each "one in" is
// a power of two. Thread safety: a value.
struct MoveParameters {
  // Up to this many ranks, a shard of a new choice is compared on all of them. With more ranks it
  // is compared on `sampled_ranks` random ones, and on all one time in `full_scan_one_in`:
  // otherwise the cost of a step would grow with the number of ranks.
  static constexpr std::uint32_t few_ranks = 32;
  static constexpr std::uint32_t sampled_ranks = 12;
  static constexpr std::uint64_t full_scan_one_in = 16;
  // Half of the moves start at the rank of the highest energy among this many random ranks.
  std::uint32_t loaded_rank_tournament = 4;
  // Half of the shifted shards go to the best of this many random ranks, the others to any rank.
  std::uint32_t target_tournament = 4;
  // A table changes to another choice: the most expensive move, as it may touch every rank.
  std::uint32_t choice_sixteenths = 3;
  // One shard moves to another rank, or a unit of bonded tables moves as one.
  std::uint32_t shift_sixteenths = 5;
  // Two shards swap ranks. The most frequent move, because it still fits when memory is full.
  std::uint32_t swap_sixteenths = 6;
  // One ejection chain in `long_chain_one_in` may change this many tables, the others one table
  // more than the move itself. If memory is full, a table fits only if another leaves.
  std::size_t longest_chain = 6;
  std::uint64_t long_chain_one_in = 8;
  // Under placement rules, one in this many new choices goes to a random host or rank as a whole,
  // because the cheapest place is too often the place that the table just left.
  static constexpr std::uint64_t whole_place_one_in = 4;
  // Half of the moved units go to the best of this many random places, the others to any place.
  static constexpr std::uint32_t unit_tries = 4;
};

// The temperature of a round falls from a random start to a fixed end. Exponents are decimal and
// relative to the mean energy that a table adds; "squared" and "linear" name the two kinds of goal.
// Thread safety: a value.
struct CoolingParameters {
  // Steps at one temperature. More steps would only save updates of the temperature.
  std::uint64_t steps_per_temperature = 64;
  // Steps of the first round: at least this many, and this many per table.
  double least_steps = 5000;
  double steps_per_table = 100;
  // The length of a round grows by this factor, for this many rounds: short rounds find a first
  // plan soon, long rounds find what short ones cannot.
  double growth = 1.3;
  static constexpr std::uint64_t growing_rounds = 20;
  // Exponents x of the hottest and coolest starts, 10^-x, and the temperature at the end.
  double squared_hottest = 4.5;
  double squared_coolest = 5.5;
  double squared_end = 1e-10;
  double linear_hottest = 3;
  double linear_coolest = 4;
  double linear_end = 1e-6;
  // A round may start hotter by this power of 10 per tenfold of its steps beyond
  // `free_steps_per_table`: a long round can repair what a hot start destroys.
  double heat_per_decade = 1.5;
  double free_steps_per_table = 20;
  // Where ranks differ (rules, uneven speeds), one round in `melt_every` starts between the mean
  // energy and 10^-melting_range of it: the best plan may look nothing like the current plan. With
  // fewer than `few_tables` tables, one round in `few_tables_melt_every` does.
  static constexpr std::size_t few_tables = 30;
  static constexpr std::uint64_t few_tables_melt_every = 2;
  static constexpr std::uint64_t melt_every = 4;
  static constexpr double melting_range = 2;
};

// What a round aims at. Weights are in units of the goal's energy.
// Thread safety: a value.
struct TargetParameters {
  // The target lies below the best rating by one of these fractions of the rating's distance to the
  // bound, drawn at random: low targets rearrange everything, high targets even out loads.
  std::array<double, 4> target_shares{1, 0.5, 0.2, 0.05};
  // Weight of a full rank once there is a plan. The weight is small, because in full memory the way
  // to a better plan leads through allocations that do not fit.
  double memory_weight = 0.1;
  // Weights of a broken rule once there is a plan, one of them drawn at random per round.
  static constexpr std::array<double, 4> rule_weights{0.1, 1, 10, 100};
  // While there is no plan, the target is a multiple of the bound: `fitting_target`, plus
  // `fitting_target_growth` per round. The weight of memory grows by a factor per round. Both grow
  // for `fitting_rounds` rounds. Rules weigh `fitting_rule_weight` more than memory.
  static constexpr double fitting_target = 1.05;
  static constexpr double fitting_target_growth = 0.1;
  static constexpr double fitting_weight_growth = 4;
  static constexpr std::uint64_t fitting_rounds = 12;
  static constexpr double fitting_rule_weight = 10;
};

// How a round begins, if not from the best plan.
// Thread safety: a value.
struct RestartParameters {
  // Limits of the shards of a first allocation, as multiples of the bound. All limits are tried,
  // and the best allocation is kept: small shards spread evenly, but splitting has its cost.
  std::array<double, 8> shard_limits{1e9, 1.02, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05};
  // If the busiest rank of the best allocation exceeds the mean load by this factor, shards of
  // choices on single ranks are too few and too large to be even. Bisection then finds the least
  // factor on the price of their load, up to `most_single_factor`, with which the busiest rank has
  // one such shard less.
  static constexpr double coarse_excess = 1.05;
  static constexpr double most_single_factor = 4;
  static constexpr int single_factor_steps = 8;
  // The price of memory is multiplied by 1, 1 + step, 1 + 2 step, ..., at random out of
  // `price_steps` factors (of `first_price_steps` the first time).
  double price_step = 0.25;
  std::uint32_t first_price_steps = 2;
  static constexpr std::uint32_t price_steps = 5;
  // Weights of memory and of rules in the comparison of allocations: whether they fit comes first.
  double memory_weight = 1000;
  static constexpr double rule_weight = 1000;
  // One round in this many continues from the current allocation instead of the best one.
  std::uint32_t keep_current_one_in = 8;

  // Far from the bound, rounds start with choices_below(), which decides which tables are on all
  // ranks: no chain of moves changes this in full memory. One round in `far_one_in` does so if the
  // rating exceeds `far` times the bound; one in `near_one_in` if it exceeds `near` times the
  // bound.
  static constexpr double far = 1.25;
  double near = 1.05;
  static constexpr std::uint32_t far_one_in = 2;
  static constexpr std::uint32_t near_one_in = 8;
  // If the rating exceeds only `nearest` times the bound, one round in `drawn_one_in` starts with
  // random choices. Their expected price above the cheapest choices is `drawn_excess` times the
  // distance to the bound, times the square of a random fraction: small differences decide.
  static constexpr double nearest = 1.0001;
  static constexpr std::uint32_t drawn_one_in = 4;
  static constexpr double drawn_excess = 1;
  static constexpr int drawn_steps = 10;  // of the bisection that finds their temperature
  // Each draw multiplies the loads of choices on single ranks, on hosts and on all ranks by random
  // factors from e^-x to e^x, where x is `reach_spread` times the relative distance to the bound: a
  // factor decides for all tables at once how much of the load lies on single ranks.
  static constexpr double reach_spread = 5;
  // Where memory is scarce, a round considers choices that exceed the cheapest of their table by up
  // to one of these fractions of the slack (see ConsideredChoices).
  static constexpr std::array<double, 4> considered_parts{1, 1.0 / 4, 1.0 / 16, 1.0 / 64};
  // Number of targets that choices_below() tries: by bisection the first time, then at random.
  static constexpr int first_target_tries = 6;
  static constexpr int target_tries = 3;
  // No target is below this fraction of the best rating.
  static constexpr double least_target = 1e-3;
  // The price of memory is multiplied by a random factor from 1 to 1 + spread.
  static constexpr double target_price_spread = 0.5;
  // Weight of memory and of rules in a round that starts with construct_below().
  static constexpr double target_weight = 10;
  // Work per choice and target of choices_below(), in updates of a rank.
  static constexpr std::uint64_t work_per_choice = 10;
};

// Pair balancing: the shards of two ranks are divided again, as evenly as possible.
// Thread safety: a value.
struct BalanceParameters {
  // Number of subsets that are enumerated for each half of the shards: a power of two, at most
  // 2^15. Twice its logarithm, 20, is the largest number of shards that are divided at once.
  static constexpr std::size_t subsets = 1024;
  // Work of pair balancing in every other round, per earlier round.
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
  // Lanes that anneal. parameters_for() sets the number.
  std::uint32_t annealing_lanes = 16;
  // Work of a lane in the first round, doubled every round up to `most_round_work`. Short rounds at
  // first solve many problems soon. Later, long rounds save waits for the slowest lane.
  static constexpr std::uint64_t first_round_work = 15'000;
  static constexpr std::uint64_t most_round_work = 500'000;
  // Work of the proof, in units of an annealing lane's work: while plans get better, once they no
  // longer do, and after `calm_work` without a better plan. A better plan makes the proof easier,
  // so improving comes first.
  static constexpr std::uint64_t proof_share = 6;
  static constexpr std::uint64_t settled_proof_share = 24;
  static constexpr std::uint64_t calm_proof_share = 144;
  std::uint64_t calm_work = 32'000'000;
  // The limit while one lane of the proof works alone; the number of annealing lanes is a limit,
  // too. It is below the work of all default annealing lanes, since the steps of a proof take
  // longer and two threads should both be busy.
  static constexpr std::uint64_t alone_proof_share = 12;
  // If the bound has not risen for this much work either, `settled_proof_share` counts again.
  std::uint64_t stuck_work = 256'000'000;
  // Number of lanes that start a round from the same suggestion of the proof.
  std::uint32_t suggestion_tries = 3;
  // Largest number of waiting suggestions. Older ones are for targets farther from the bound.
  std::uint32_t most_suggestions = 32;
  // Plans count as getting better if over the last 1 / recent_parts of all work the rating fell by
  // this fraction of its distance to the bound.
  static constexpr double progress = 0.1;
  // A proof within the gap does not end the search while over the last 1 / last_parts of all work
  // the rating fell by the fraction `last_progress` of its distance to the bound, unless this
  // distance is below the fraction `nothing_better` of the rating.
  static constexpr std::uint64_t last_parts = 8;
  double last_progress = 0.5;
  static constexpr double nothing_better = 1e-6;
  std::uint64_t recent_parts = 4;
};

// The proof needs at least one lane, annealing two. With more than kMostLanes, the work of an
// ordinary search would not suffice for more than the beginning of every lane.
inline constexpr std::uint32_t kLeastLanes = 3;
inline constexpr std::uint32_t kMostLanes = 4096;
inline constexpr std::uint32_t kDefaultLanes = 32;

// Settings of a search. With the same settings and work limit the answer is the same for any number
// of threads.
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

// The parameters for a number of lanes: seven of sixteen anneal, and the others prove. With half of
// them, each learns less from the same work: two large problems end 1.3 % dearer, and with a gap of
// 3.6 instead of 1.8 %. Precondition: `lanes` is at least kLeastLanes.
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
