// Parameters of simulated annealing: its moves, its temperatures, and how rounds begin.
//
// A comment behind a default is the mean change of ratings at fixed work, + is worse, when it is
// halved and doubled: perf/parameters/README.md.
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
  // Memory counts in placing a shard only if the choices fill more than this part of it: memory
  // that is far from full cannot run short, and ranks even in load are worth more.
  double scarce_fill = 0.5;  // halved -0.016 %, doubled +0.344 %
  // Ranks per block that are skipped together if their least load and bytes already cost too much.
  // Affects speed only.
  static constexpr std::size_t ranks_per_block = 32;
  // Choices that are on all ranks change what fits beside them: choose_below() repeats its choice
  // until both agree, at most this often.
  static constexpr int most_agreement_rounds = 8;
  // Bisection steps of the price of memory in every such round. The price only has to be precise
  // enough to rank the choices of a table.
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
  // Half of the moves start at a rank of high energy: the worst of this many random ranks.
  std::uint32_t loaded_rank_tournament = 4;  // halved +0.101 %, doubled +0.025 %
  // Half of the shifted shards go to the best of this many random ranks, the others to any rank.
  std::uint32_t target_tournament = 4;  // halved +0.184 %, doubled +0.154 %
  // A table changes to another choice: the most expensive move, as it may touch every rank.
  std::uint32_t choice_sixteenths = 3;  // halved +0.072 %, doubled +0.239 %
  // One shard moves to another rank, or a unit of bonded tables moves as one.
  std::uint32_t shift_sixteenths = 5;  // halved +0.091 %, doubled +0.146 %
  // Two shards swap ranks. With full memory this is what still fits, so it is the most frequent.
  std::uint32_t swap_sixteenths = 6;  // halved +0.145 %, doubled +0.120 %
  // An ejection chain may change this many tables, one time in `long_chain_one_in`; otherwise one
  // table more than the move itself. If memory is full, one table fits only if another leaves.
  std::size_t longest_chain = 6;        // halved +0.116 %, doubled -0.046 %
  std::uint64_t long_chain_one_in = 8;  // halved +0.109 %, doubled +0.001 %
  // Under placement rules, one in this many new choices goes to one random host or rank as a whole:
  // the cheapest place is too often the one that the table just left.
  static constexpr std::uint64_t whole_place_one_in = 4;
  // Half of the moved units go to the best of this many random places, the others to any place.
  static constexpr std::uint32_t unit_tries = 4;
};

// The temperature of a round falls from a random start to a fixed end. Exponents are decimal and
// relative to the mean energy that a table adds; "squared" and "linear" name the two kinds of goal.
// Thread safety: a value.
struct CoolingParameters {
  // Steps at one temperature. More would only save the overhead of updating it.
  std::uint64_t steps_per_temperature = 64;  // halved 0, doubled +0.048 %
  // Steps of the first round: at least this many, and this many per table.
  double least_steps = 5000;     // halved -0.009 %, doubled -0.011 %
  double steps_per_table = 100;  // halved +0.009 %, doubled -0.050 %
  // Each round is longer than the one before by this factor, for this many rounds: short rounds
  // find a first plan soon, long ones need not repeat what short ones could find.
  double growth = 1.3;  // halved -0.006 %, doubled -0.010 %
  static constexpr std::uint64_t growing_rounds = 20;
  // The hottest and coolest starts, as powers of 1/10, and the temperature at the end.
  double squared_hottest = 4.5;  // halved +0.011 %, doubled +0.019 %
  double squared_coolest = 5.5;  // halved +0.095 %, doubled +0.012 %
  double squared_end = 1e-10;    // halved 0, doubled -0.001 %
  double linear_hottest = 3;     // halved -0.021 %, doubled +0.058 %
  double linear_coolest = 4;     // halved +0.045 %, doubled +0.032 %
  double linear_end = 1e-6;      // halved +0.039 %, doubled -0.008 %
  // A round of ten times as many steps may start hotter by this power of 10; `free_steps_per_table`
  // is the length that earns nothing. What a hot start undoes, a long round can redo.
  double heat_per_decade = 1.5;      // halved +0.027 %, doubled -0.032 %
  double free_steps_per_table = 20;  // halved -0.024 %, doubled +0.006 %
  // Where ranks differ (rules, uneven speeds), one round in this many starts as hot as the mean
  // energy itself, down to 10^-melting_range of it: the best plan may look nothing like the current
  // one. Models of fewer than `few_tables` tables afford it more often.
  static constexpr std::size_t few_tables = 30;
  static constexpr std::uint64_t few_tables_melt_every = 2;
  static constexpr std::uint64_t melt_every = 4;
  static constexpr double melting_range = 2;
};

// What a round aims at. Weights are in units of the goal's energy.
// Thread safety: a value.
struct TargetParameters {
  // The target lies below the best rating by one of these parts of its distance to the bound, drawn
  // at random: bold targets rearrange everything, timid ones finish what is nearly even.
  std::array<double, 4> target_shares{1, 0.5, 0.2, 0.05};  // halved +0.183 %, doubled +0.237 %
  // Weight of a full rank once there is a plan. Small: passing through states that do not fit is
  // what makes full memory passable.
  double memory_weight = 0.1;  // halved +0.207 %, doubled +0.053 %
  // Weights of a broken rule once there is a plan, one of them drawn at random per round.
  static constexpr std::array<double, 4> rule_weights{0.1, 1, 10, 100};
  // While there is no plan, the target starts at this factor of the bound, rises by so much per
  // round, and the weight of memory grows by a factor per round, until `fitting_rounds` rounds:
  // fitting comes first, more and more. Rules weigh `fitting_rule_weight` more than memory.
  static constexpr double fitting_target = 1.05;
  static constexpr double fitting_target_growth = 0.1;
  static constexpr double fitting_weight_growth = 4;
  static constexpr std::uint64_t fitting_rounds = 12;
  static constexpr double fitting_rule_weight = 10;
};

// How a round begins, if not from the best plan.
// Thread safety: a value.
struct RestartParameters {
  // Largest shard that a first allocation may use, in bounds. All are tried, the best is kept:
  // small shards spread evenly, but splitting has its price.
  // halved +0.806 %, doubled -0.005 %
  std::array<double, 8> shard_limits{1e9, 1.02, 0.7, 0.5, 0.35, 0.2, 0.1, 0.05};
  // If the best of these leaves the busiest rank so much above the mean, its shards on single ranks
  // are too few and too large to be even. Their load is then priced higher, by a factor up to
  // `most_single_factor`: the least with which that rank has a shard less, found in so many steps.
  static constexpr double coarse_excess = 1.05;
  static constexpr double most_single_factor = 4;
  static constexpr int single_factor_steps = 8;
  // Memory is priced at 1, 1 + step, 1 + 2 step, ... times its price, at random out of this many
  // (out of fewer the first time).
  double price_step = 0.25;             // halved -0.104 %, doubled 0
  std::uint32_t first_price_steps = 2;  // halved -0.060 %, doubled +0.126 %
  static constexpr std::uint32_t price_steps = 5;
  // Weights of memory and of rules in judging an allocation: enough to prefer any that fits.
  double memory_weight = 1000;
  static constexpr double rule_weight = 1000;
  // One round in this many continues from the current allocation instead of the best one.
  std::uint32_t keep_current_one_in = 8;  // halved -0.011 %, doubled -0.004 %

  // Far from the bound, rounds start below a target: choose_below() decides which tables are on
  // all ranks, which no chain of moves can change in full memory. A rating above `far` bounds is
  // far, one above `near` bounds is in between; one round in this many starts this way.
  static constexpr double far = 1.25;
  double near = 1.05;  // halved 0, doubled -0.003 %
  static constexpr std::uint32_t far_one_in = 2;
  static constexpr std::uint32_t near_one_in = 8;
  // Nearer to the bound, but above `nearest` bounds, one round in `drawn_one_in` starts with random
  // choices. Those that are drawn together are expected to be dearer than the cheapest ones by this
  // part of the distance to the bound, times the square of a random fraction: small differences
  // decide where the best plan is close.
  static constexpr double nearest = 1.0001;
  static constexpr std::uint32_t drawn_one_in = 4;
  static constexpr double drawn_excess = 1;
  static constexpr int drawn_steps = 10;  // of the bisection that finds their temperature
  // For each draw, the loads of choices on single ranks, on hosts and on all ranks count by factors
  // of their own, drawn up to e^x above or below 1, where x is this part of the distance to the
  // bound: how much of the load lies on single ranks is then decided for all tables at once.
  static constexpr double reach_spread = 5;
  // Where memory is scarce, a round considers choices that are dearer than the cheapest of their
  // table by up to one of these parts of what an allocation as good as the best one can spare.
  static constexpr std::array<double, 4> considered_parts{1, 1.0 / 4, 1.0 / 16, 1.0 / 64};
  // Targets tried by the first such round, which bisects, and by the later ones, which draw.
  static constexpr int first_target_tries = 6;
  static constexpr int target_tries = 3;
  // No target is below this part of the best rating.
  static constexpr double least_target = 1e-3;
  // Memory is priced at 1 to 1 + spread times its price, at random.
  static constexpr double target_price_spread = 0.5;
  // Weight of memory and of rules in the round that follows.
  static constexpr double target_weight = 10;
  // Work charged per choice and target: what choose_below() costs, measured in updates of a rank.
  static constexpr std::uint64_t work_per_choice = 10;
};

// Pair balancing: the shards of two ranks are divided again, as evenly as possible.
// Thread safety: a value.
struct BalanceParameters {
  // Subsets of each half of the shards that are enumerated; a power of two, at most 2^15. Its
  // logarithm, doubled, is the number of shards that are divided at once: 20.
  static constexpr std::size_t subsets = 1024;
  // Every other round begins with so much work of it, times the number of rounds before.
  std::uint64_t work_per_round = 50'000;  // halved -0.012 %, doubled 0
  // It ends early after this many failed tries, times the number of ranks.
  std::uint32_t vain_tries_per_rank = 4;  // halved 0, doubled -0.017 %
};

// All that an AnnealingLane is told.
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
