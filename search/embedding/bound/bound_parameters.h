// Parameters of the proof. Work is in units of Budget::spend(). A member that is `static constexpr`
// is not varied by perf/parameters.
//
// perf/parameters/README.md shows the effect of halving and doubling the defaults.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "search/embedding/bound/methods.h"

namespace shardwright::embedding {

// How finely the relaxation distinguishes ranks (RankClasses). More classes give a stronger bound.
// Every class costs three rows in the aggregate program and a pricing problem per iteration.
// Thread safety: a value.
struct RankClassParameters {
  // Largest number of kinds of ranks, which differ in memory or time scale. With more kinds, all
  // ranks count as one kind, with the largest memory and the highest speed.
  static constexpr std::size_t kMaxKinds = 8;
  // Kinds are split where the load of a choice changes, up to this number of classes.
  static constexpr std::size_t kMaxClasses = 16;
  // Every host may be a class of its own, so that a branch can place a choice on one host, if there
  // are at most this many hosts. Every host then has its own pricing problem.
  std::uint32_t max_hosts = 4;
  // Uniform choices get their own classes (RankClasses::apart) up to this number of classes.
  static constexpr std::size_t kMaxApart = 16;
  // A class is split between two ranks only if their loads from a choice differ by more than this
  // fraction of the larger load. Smaller differences hardly weaken the bound.
  static constexpr double kLoadDifference = 1e-3;
};

// Thread safety: a value.
struct AggregateParameters {
  // Largest number of cutting planes for one bound. It matters only if the solver is stuck.
  static constexpr std::uint32_t kMaxRounds = 200;
  // No more cutting planes are added when the bound is within this relative distance of the optimum
  // of the linear program. The distance is far below BoundParameters::optimality_gap.
  double gap = 1e-7;
  // Work of solving the small linear program once, and of building it.
  static constexpr std::uint64_t kProgramSteps = 2'000;
  static constexpr std::uint64_t kNewProgramSteps = 6'000;
  // Largest number of reductions in reduce_domain(), each with new multipliers.
  std::uint32_t max_reductions = 8;
  // Largest multiplier of the whole memory of a rank, in units of the target. The limit keeps the
  // first linear programs bounded; the multipliers of good bounds are far smaller.
  double max_multiplier = 1e3;
};

// How thoroughly a pricing problem is searched.
// Thread safety: a value.
struct KnapsackParameters {
  // A beam search precedes the full search, and keeps this many labels per item class. The pattern
  // that it finds lets the full search drop most labels early.
  std::size_t beam_width = 64;
  // With more labels than this, the full search makes separate labels for the remaining item
  // classes and joins the two sets (meet in the middle).
  std::size_t max_labels_of_first_half = 1'000;
  // With more labels than this, the full search fails. Exact queries then round the resources.
  static constexpr std::size_t kMaxLabels = 20'000;
  // Resources are rounded to this fraction of a capacity, 1 / rounding_units. Fewer units leave
  // fewer different labels, but let patterns exceed the capacity of a rank by more.
  static constexpr double kRoundingUnits = 1 << 15;
  // A pattern whose value exceeds the dual value of its rank class by this fraction is accepted
  // without a proof that it is the best pattern. Column generation only needs an improving column.
  double good_enough = 1e-3;
  // A full search follows a beam search at once if the last full search took fewer steps than this.
  // Otherwise full searches run only when beam searches find no more columns.
  std::uint64_t max_easy_steps = 50'000;
  // A label is compared with the Pareto front of HBM and value first, and then in all resources
  // with at most this many labels. Comparing all pairs removes few more labels.
  static constexpr std::size_t kMaxComparisons = 32;
  // Bisection steps for one multiplier. Each step halves the error and takes a pass over all items.
  std::uint32_t multiplier_bisections = 30;
  // Golden-section steps for the multiplier of HBM. Each step divides the error by 1.6.
  std::uint32_t hbm_sections = 40;
  // When two sets of labels are joined, this many pairs count as one step.
  std::uint64_t pairs_per_step = 8;
  // Work of one label.
  static constexpr std::uint64_t kLabelWork = 2;
  // Factors for the best multipliers of load and HBM. Each pair gives another completion bound, for
  // labels with much load and little memory, or the reverse.
  struct Scale {
    double load;
    double hbm;
  };
  std::array<Scale, 4> other_relaxations{{{0.5, 1.5}, {1.5, 0.5}, {2.0, 0.0}, {0.0, 2.0}}};
};

// Thread safety: a value.
struct ColumnGenerationParameters {
  // A target counts as proved if the dual value of all tables exceeds the dual value of the best
  // patterns on all ranks by this fraction. It exceeds the slack and rounding of check_bound().
  static constexpr double kMargin = 1e-7;
  // A relaxation counts as feasible if its excess (see RestrictedMaster) is less than this
  // tolerance of the solver.
  static constexpr double kFeasibleExcess = 1e-9;
  // A pattern enters the master program if its value exceeds the dual value of its rank class by a
  // relative plus an absolute margin. These exceed rounding errors, so that no pattern enters
  // twice.
  static constexpr double kMinRelativeGain = 1e-9;
  static constexpr double kMinGain = 1e-12;
  // Weight of the DualCenter in the dual values for pricing; the rest is the master program's.
  static constexpr double kCenterShare = 0.6;
  // Work of one simplex pivot: a fixed part, and a third of a unit per row and column up to a
  // maximum. Larger programs are sparse, so that a pivot takes no longer.
  std::uint64_t pivot_steps = 300;
  static constexpr std::uint64_t kMaxPivotSizeSteps = 4'000;
  // `size`: number of rows plus number of columns.
  std::uint64_t steps_per_pivot(std::uint64_t size) const {
    return pivot_steps + std::min(size / 3, kMaxPivotSizeSteps);
  }
  // Work of factorising a basis, per square and per cube of the number of rows and columns. It
  // takes 0.1 ms for MLPerf DLRM, and 25 ms for 500 tables on 8 ranks.
  static constexpr double kFactorSquareSteps = 0.15;
  static constexpr double kFactorCubeSteps = 1.2e-4;
  static constexpr double kMaxFactorSteps = 3e6;
  // Largest number of patterns that PatternPool keeps. Loading more patterns takes longer than
  // finding some of them again.
  static constexpr std::size_t kMaxKnownPatterns = 1'000;
  // When the solution of a group is distributed to its equal tables, a table is complete if at most
  // this fraction has no choice yet. It covers the rounding of the solver's values.
  double min_share = 1e-9;
  // If set, equal shards of different tables share a row of the master program, so that a pattern
  // found for one table serves the other tables, too.
  bool shares_rows = false;
};

// Thread safety: a value.
struct BranchingParameters {
  // The mean size of the choices must differ by more than this between the two sides of a branch,
  // as a fraction of the load or memory of all ranks.
  static constexpr double kMinSeparation = 1e-9;
  // A node branches without column generation if the two sides of the branch differ by more than
  // this fraction of the load or memory of all ranks. Only few tables have such branches.
  static constexpr double kLargeSeparation = 0.02;
  // The fraction that a Lagrangian tree tries next if no branch exceeds `kLargeSeparation`.
  static constexpr double kLightSeparation = 0.005;
  // The width of a branch is its fractionality times the size difference of its sides to this
  // power. The exponent is small because the fractionality matters more.
  static constexpr double kSizeExponent = 0.1;
  // A number of tables this close to an integer counts as whole: the solver's tolerance.
  static constexpr double kMinPart = 1e-6;
  // A group branches on the places of a choice only if the relaxation gives the choice to at least
  // this number of tables, as a sum of fractions.
  double min_share = 0.5;
  // Replaces the fractionality in the width of a branch whose number of tables is whole. Such a
  // branch is the last resort for a node that nothing else divides.
  static constexpr double kWholeWidth = 1e-3;
};

// Thread safety: a value.
struct BoundTargetParameters {
  // Work for the small first tree (TargetSchedule::is_early), which tries the goal.
  static constexpr std::uint64_t kEarlyTreeWork = 3'000'000;
  // Work for one Lagrangian tree.
  std::uint64_t light_work = 3'000'000;
  // Number of Lagrangian trees, for different targets, after the rating fell by `kRatingFall`.
  // After a smaller fall there is one tree.
  std::uint32_t light_trees = 8;
  // Bisection ends when its interval is shorter than this fraction of the rating: `root_step` at
  // the root node, `kTreeStep` with branching.
  double root_step = 1e-3;
  static constexpr double kTreeStep = 2e-5;
  // The fraction after a tree ran out of work. Then the targets are repeated with more work, which
  // gains more than small steps.
  static constexpr double kCutTreeStep = 1e-2;
  // The goal is rating x (1 - goal_in_gap x optimality_gap), so a proof of the goal proves the
  // rating optimal. A higher target is harder to prove.
  double goal_in_gap = 0.9;
  // Work for the relaxation of the root node: the first limit, the factor by which the limit grows
  // if the work ran out, and the largest limit.
  std::uint64_t root_work = 8'000'000;
  static constexpr std::uint64_t kRootWorkGrowth = 4;
  static constexpr std::uint64_t kMaxRootWork = 128'000'000;
  // Work for the relaxation of one node of a tree.
  static constexpr std::uint64_t kNodeWork = 40'000'000;
  // Work for one tree: the first limit, the factor by which the limit grows if the work ran out,
  // and the largest limit. MLPerf DLRM on two hosts takes 66 million.
  static constexpr std::uint64_t kTreeWork = 128'000'000;
  static constexpr std::uint64_t kTreeWorkGrowth = 4;
  static constexpr std::uint64_t kMaxTreeWork = 4'000'000'000;
  // A tree that has used its work continues if at least the fraction `kClosedPart` of the tree is
  // proved. The new limit is the old one times `kMostExtension` times the proved fraction.
  static constexpr double kClosedPart = 0.25;
  static constexpr double kMostExtension = 16;
  // A Lagrangian tree with at least `kClosedPart` proved gets this fraction of `light_work` more.
  double light_extension = 0.5;
  // The work for a tree is divided by this number if the target is below the goal, because large
  // trees for lower targets are of little use for the goal.
  static constexpr std::uint64_t kLowerTreePart = 8;
  // The number of lanes that share a tree, and the work that one lane spends on the tree before. A
  // small tree ends sooner on one lane.
  std::uint32_t tree_lanes = 16;
  std::uint64_t alone_work = 2'000'000;
  // Largest number of nodes of a tree, for all targets together.
  static constexpr std::size_t kMaxNodes = 4'000;
};

// Parameters of PatternRounding.
// Thread safety: a value.
struct RoundingParameters {
  // Largest number of dives (DivingHeuristic) for one fractional plan. No further dive begins once
  // the dives took `most_work`, or, if this is more, 1 / `kPartsOfWork` of all work before.
  static constexpr std::uint64_t kTries = 64;
  std::uint64_t most_work = 2'000'000;
  static constexpr std::uint64_t kPartsOfWork = 32;
  // The ranks that the best dive chose are not used if the tables that it could not place need more
  // than one rank and more than this fraction of all ranks.
  static constexpr double kMostUnplaced = 1.0 / 64;
  // Limits of pricing for new patterns: rounds after each solution of the linear program, and work
  // per dive. Patterns need not be optimal, so pricing takes few steps.
  std::uint32_t pricing_rounds = 4;
  static constexpr std::uint64_t kMostPricingWork = 500'000;
  KnapsackParameters pricing{.multiplier_bisections = 12, .hbm_sections = 8};
  // Work of a simplex pivot: a fixed part, and a part per row and column. Then the work of a
  // solution beside its pivots.
  std::uint64_t pivot_steps = 1'000;
  static constexpr double kPivotSizeSteps = 1.0 / 3;
  static constexpr std::uint64_t kSolveSteps = 2'000;
};

// Parameters of CapacitySplitTree and UniformTargets.
// Thread safety: a value.
struct UniformTreeParameters {
  // Work for one target: the first limit, the factor by which the limit grows when bisection is
  // repeated, and the largest limit.
  std::uint64_t work = 8'000'000;
  std::uint64_t work_growth = 4;
  std::uint64_t most_work = 1'000'000'000;
  // Bisection ends after this many targets ran out of work.
  std::uint32_t most_cut_short = 2;
  // Number of targets only for suggestions, after a target at which the tree was stuck.
  std::uint32_t suggestions = 4;
  // Work for column generation at a node.
  static constexpr std::uint64_t kNodeWork = 4'000'000;
  // A node divides the widest interval of uniform use if it is wider than this fraction of a rank,
  // and otherwise the choices of a group of tables.
  static constexpr double kLeastWidth = 1e-3;
  // The same fraction for a node without a branch on choices.
  static constexpr double kLeastStuckWidth = 1e-6;
  // The interval of a tier is divided only if the fractional plan fills this fraction of the tier.
  static constexpr double kFullness = 0.9;
};

// Limits of the exhaustive search of a node's plans. The search takes a few thousand steps if few
// choices are possible. It is strong where large shards do not fit beside each other, which a
// fractional mix of patterns hides.
// Thread safety: a value.
struct NodeSearchParameters {
  // Limits of steps for the root of the small first tree, for the root of a tree for a target below
  // the goal, and for a node without a branch.
  static constexpr std::uint64_t kEarlyRootSteps = std::uint64_t{1} << 18;
  static constexpr std::uint64_t kRootSteps = std::uint64_t{1} << 19;
  static constexpr std::uint64_t kLeafSteps = std::uint64_t{1} << 22;
  // Each failure at a node without a branch halves `kLeafSteps`, down to this, until the target
  // rises. A search that fails at one target seldom ends at the next lower target.
  static constexpr std::uint64_t kLeastLeafSteps = std::uint64_t{1} << 18;
  // Limits of steps for all other nodes: the first, the largest and the smallest limit. A success
  // doubles the limit of a lane, a failure halves it. Below the smallest, the lane stops searching.
  static constexpr std::uint64_t kNodeSteps = std::uint64_t{1} << 15;
  static constexpr std::uint64_t kMostNodeSteps = std::uint64_t{1} << 18;
  static constexpr std::uint64_t kLeastNodeSteps = std::uint64_t{1} << 12;
  // Largest number of search steps in a certificate, because the check repeats these steps.
  std::uint64_t proof_steps = std::uint64_t{1} << 24;
  // Steps of RootSearch: the first limit, and its growth factor per failure, up to `proof_steps`.
  std::uint64_t first_root_steps = std::uint64_t{1} << 18;
  std::uint64_t root_steps_growth = 4;
  // Bisection by RootSearch ends when its interval is shorter than this fraction of the goal,
  // because trees then raise the bound faster.
  static constexpr double kRootTargetStep = 3e-3;
  // A problem is tiny if tables x ranks is at most this number. Its proof begins with RootSearch,
  // with a limit of `kTinySteps`, which take a tenth of a second.
  std::uint64_t most_tiny_cells = 64;
  static constexpr std::uint64_t kTinySteps = std::uint64_t{1} << 22;
  // RootSearch runs only if possible choices x ranks is at most this number.
  std::uint64_t most_root_cells = std::uint64_t{1} << 13;
  // Work of one search step.
  std::uint64_t step_work = 2;
  // Search steps between two pauses, about the work of a lane in a round.
  static constexpr std::uint64_t kStepsBetweenPauses = std::uint64_t{1} << 18;
  // A node is searched only if its possible choices x ranks is at most this number.
  static constexpr std::uint64_t kMostCells = std::uint64_t{1} << 16;
};

// All parameters of a BoundProver.
// Thread safety: a value.
struct BoundParameters {
  // A plan counts as optimal if the relative gap between its rating and the bound is at most this.
  // It is far less than the error of a cost model and far more than rounding errors.
  double optimality_gap = 1e-4;
  // If the master program would have more rows than this, only the aggregate bound and Lagrangian
  // trees are used. Solving a larger program takes longer than a whole search for plans.
  std::size_t max_master_rows = 6'000;
  // When the rating has fallen by this fraction, the aggregate bound is computed again, because it
  // may exclude more choices, and all trees begin anew.
  static constexpr double kRatingFall = 1e-3;

  BoundMethods methods;
  RankClassParameters classes;
  AggregateParameters aggregate;
  KnapsackParameters pricing;
  ColumnGenerationParameters columns;
  BranchingParameters branching;
  RoundingParameters rounding;
  UniformTreeParameters uniform;
  NodeSearchParameters search;
  BoundTargetParameters targets;
};

}  // namespace shardwright::embedding
