// Parameters of the proof.
//
// perf/parameters/README.md has the effect of halving and doubling the defaults.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "search/embedding/bound/methods.h"

namespace shardwright::embedding {

// How finely the relaxation distinguishes ranks. Every class costs three rows in the aggregate
// program and a pricing problem per iteration of column generation; merging ranks that differ
// weakens the bound.
// Thread safety: a value.
struct RankClassParameters {
  // Kinds of ranks that are distinguished, by memory and time scale. With more kinds, all ranks
  // count as one kind, with the memory of the largest rank and the speed of the fastest.
  static constexpr std::size_t max_kinds = 8;
  // Largest number of classes when kinds are split where the load of a choice changes.
  static constexpr std::size_t max_classes = 16;
  // Largest number of hosts at which every host may be a class, so that a branch can place a choice
  // on one host. Every host then has its own pricing problem.
  std::uint32_t max_hosts = 4;
  // Uniform choices get their own classes (RankClasses::apart) if this makes at most this many.
  static constexpr std::size_t max_apart = 16;
  // A class is split between two ranks only if their loads from a choice differ by more than this
  // fraction of the larger load. Smaller differences hardly weaken the bound.
  static constexpr double load_difference = 1e-3;
};

// Thread safety: a value.
struct AggregateParameters {
  // Largest number of cutting planes for one bound. The limit ends programs in which the solver
  // makes no progress.
  static constexpr std::uint32_t max_rounds = 200;
  // The rounds end when the bound is within this relative distance of the cutting-plane model's
  // optimum: far below the gap that counts as optimal.
  double gap = 1e-7;
  // Work of one solution of the small linear program, and of its construction, in pricing steps.
  static constexpr std::uint64_t program_steps = 2'000;
  static constexpr std::uint64_t new_program_steps = 6'000;
  // Largest number of reductions of a node's domain, each with new multipliers.
  std::uint32_t max_reductions = 8;
  // Largest multiplier of a rank's whole memory, in units of the target. It keeps the first
  // programs bounded; no useful bound reaches it.
  double max_multiplier = 1e3;
};

// How thoroughly a pricing problem is searched.
// Thread safety: a value.
struct KnapsackParameters {
  // Labels that the beam search before the full search keeps per item class. Its pattern lets the
  // full search drop most labels early.
  std::size_t beam_width = 64;
  // With more labels than this, the full search extends the remaining item classes separately (meet
  // in the middle). Both halves grow exponentially, so equal halves are best.
  std::size_t max_labels_of_first_half = 1'000;
  // With more labels than this, the full search gives up, and an exact query rounds the resources.
  static constexpr std::size_t max_labels = 20'000;
  // Units of a capacity when resources are rounded: fewer units leave fewer different labels, but
  // let patterns exceed the rank by more.
  static constexpr double rounding_units = 1 << 15;
  // A pattern whose value exceeds the dual value of its class by this fraction is accepted without
  // a proof of optimality: column generation needs only an improving column.
  double good_enough = 1e-3;
  // A full search follows the beam search at once if the last full search took fewer steps than
  // this. Otherwise the full search waits until beam searches find no column.
  std::uint64_t max_easy_steps = 50'000;
  // Largest number of labels with which a label is compared in all resources, after the Pareto
  // front of HBM and value. Comparing all pairs finds little more.
  static constexpr std::size_t max_comparisons = 32;
  // Bisection steps for one multiplier. Each halves its error and costs a pass over all items.
  std::uint32_t multiplier_bisections = 30;
  // Golden-section steps for the multiplier of HBM. Each divides its error by 1.6.
  std::uint32_t hbm_sections = 40;
  // Pairs of labels per step when the two halves are joined: a pair is cheaper than a label.
  std::uint64_t pairs_per_step = 8;
  // Work of one label, in steps of the budget.
  static constexpr std::uint64_t label_work = 2;
  // Factors on the best multipliers of load and HBM: each pair gives another completion bound.
  // Labels with much load and little memory, or the reverse, need other multipliers.
  struct Scale {
    double load;
    double hbm;
  };
  std::array<Scale, 4> other_relaxations{{{0.5, 1.5}, {1.5, 0.5}, {2.0, 0.0}, {0.0, 2.0}}};
};

// Thread safety: a value.
struct ColumnGenerationParameters {
  // The dual value of the tables must exceed that of the best patterns on all ranks by this
  // fraction to prove a target. It exceeds the slack and the rounding of the check.
  static constexpr double margin = 1e-7;
  // A relaxation is feasible if its excess (RestrictedMaster) is less than this, the solver's
  // tolerance.
  static constexpr double feasible_excess = 1e-9;
  // A pattern enters the program if its value exceeds the dual value of its class by the sum of a
  // relative and an absolute margin. They exceed the rounding of dual values: no pattern enters
  // twice.
  static constexpr double min_relative_gain = 1e-9;
  static constexpr double min_gain = 1e-12;
  // Weight of the center in the dual values for pricing; 1 - weight goes to the program's values.
  static constexpr double center_share = 0.6;
  // Work of one simplex pivot, in pricing steps: a fixed part, and a third of a step per row and
  // column up to a maximum. Larger programs are sparse, so a pivot takes no longer.
  std::uint64_t pivot_steps = 300;
  static constexpr std::uint64_t max_pivot_size_steps = 4'000;
  // `size`: rows and columns.
  std::uint64_t steps_per_pivot(std::uint64_t size) const {
    return pivot_steps + std::min(size / 3, max_pivot_size_steps);
  }
  // Work of factorising a basis, per square and per cube of the number of rows and columns: 0.1 ms
  // for MLPerf DLRM, 1 ms for 100 tables on 16 ranks, 25 ms for 500 tables on 8.
  static constexpr double factor_square_steps = 0.15;
  static constexpr double factor_cube_steps = 1.2e-4;
  static constexpr double max_factor_steps = 3e6;
  // Patterns kept for later questions. Loading more takes longer than finding some again.
  static constexpr std::size_t max_known_patterns = 1'000;
  // When a group's solution is distributed to its equal tables, a table is complete if at most this
  // fraction of it has no choice yet: the rounding of the solver's values.
  double min_share = 1e-9;
  // Equal shards of all tables share a row of the master program: a pattern with a shard of one
  // table then serves another table, too.
  bool shares_rows = false;
};

// Thread safety: a value.
struct BranchingParameters {
  // The mean sizes of the choices on the two sides of a branch must differ by more than this
  // fraction of the load or memory of all ranks.
  static constexpr double min_separation = 1e-9;
  // A node branches before column generation if the two sides of the branch differ by more than
  // this fraction of the load or memory of all ranks. Few tables have such branches.
  static constexpr double large_separation = 0.02;
  // The fraction for a Lagrangian tree where no branch exceeds `large_separation`.
  static constexpr double light_separation = 0.005;
  // Exponent of the size difference in the width of a branch. The exponent is small because the
  // fractionality of the number of tables matters more. With 1, MLPerf DLRM takes three times the
  // nodes.
  static constexpr double size_exponent = 0.1;
  // A number of tables this close to an integer counts as whole: the solver's tolerance.
  static constexpr double min_part = 1e-6;
  // A group branches on the places of a choice only if the relaxation gives the choice to at least
  // this number of tables, a sum of fractions.
  double min_share = 0.5;
  // Factor in the width of a branch whose number of tables is whole, in place of its fractionality.
  // Such a branch comes last; without it, nodes would be left that nothing divides.
  static constexpr double whole_width = 1e-3;
};

// Thread safety: a value.
struct BoundTargetParameters {
  // Work for the small first tree, which tries the goal before bisection.
  static constexpr std::uint64_t early_tree_work = 3'000'000;
  // Work for one Lagrangian tree. Every better plan gets a Lagrangian tree.
  std::uint64_t light_work = 3'000'000;
  // Number of Lagrangian trees, of different targets, after the rating fell by `rating_fall`;
  // else 1.
  std::uint32_t light_trees = 8;
  // Bisection ends when its interval is shorter than this fraction of the rating: `root_step` at
  // the root node, `tree_step` with branching.
  double root_step = 1e-3;
  static constexpr double tree_step = 2e-5;
  // The fraction once a tree ran out of work: more work per target gains more than a small step.
  static constexpr double cut_tree_step = 1e-2;
  // The goal lies below the rating by this fraction of the optimality gap. A proof of the goal
  // proves the rating optimal. A target closer to the rating would be harder and prove no more.
  double goal_in_gap = 0.9;
  // Work for the relaxation of the root node: at first, the growth factor after it ran out without
  // an answer, and the largest. Most problems need little work.
  std::uint64_t root_work = 8'000'000;
  static constexpr std::uint64_t root_work_growth = 4;
  static constexpr std::uint64_t max_root_work = 128'000'000;
  // Work for the relaxation of one node of a tree.
  static constexpr std::uint64_t node_work = 40'000'000;
  // Work for one tree: at first, the growth factor after a tree used it up, and the largest. MLPerf
  // DLRM on two hosts takes 66 million; half of this leaves two of six seeds without a proof.
  static constexpr std::uint64_t tree_work = 128'000'000;
  static constexpr std::uint64_t tree_work_growth = 4;
  static constexpr std::uint64_t max_tree_work = 4'000'000'000;
  // A tree that has used its work continues if at least the fraction `closed_part` of the tree is
  // proved. The limit is then the work times `most_extension` times the proved fraction.
  static constexpr double closed_part = 0.25;
  static constexpr double most_extension = 16;
  // A Lagrangian tree gets this fraction of `light_work` in addition if `closed_part` of the tree
  // is proved. Case 43, with 500 tables in full memory, takes 4 million steps.
  double light_extension = 0.5;
  // The work of a tree for a target below the goal is divided by this number. Such a tree may be
  // small; a large one is of little use for the goal.
  static constexpr std::uint64_t lower_tree_part = 8;
  // Lanes that share a tree, and the work of one lane on the tree before that. A small tree ends
  // sooner on one lane, which then begins with the next target at once.
  std::uint32_t tree_lanes = 16;
  std::uint64_t alone_work = 2'000'000;
  // Nodes of a tree, for all targets together.
  static constexpr std::size_t max_nodes = 4'000;
};

// Parameters of PatternRounding.
// Thread safety: a value.
struct RoundingParameters {
  // Largest number of dives for one fractional plan. No dive begins once the dives took `most_work`
  // or, if that is more, 1 / `parts_of_work` of the work before the first dive. The second limit
  // lowers the gap of hugectr_180 on 64 ranks after 30 s from 0.5 to 0.3 %.
  static constexpr std::uint64_t tries = 64;
  std::uint64_t most_work = 2'000'000;
  static constexpr std::uint64_t parts_of_work = 32;
  // The ranks that the best dive chose are given up if its tables without a place need more than
  // one rank and more than this fraction of all ranks.
  static constexpr double most_unplaced = 1.0 / 64;
  // Limits of pricing for new patterns: rounds per solution of the linear program, and work per
  // dive. Good patterns suffice.
  std::uint32_t pricing_rounds = 4;
  static constexpr std::uint64_t most_pricing_work = 500'000;
  KnapsackParameters pricing{.multiplier_bisections = 12, .hbm_sections = 8};
  // Work in steps: of a simplex pivot of a small program, of a pivot per row and column, and of the
  // rest of a solution.
  std::uint64_t pivot_steps = 1'000;
  static constexpr double pivot_size_steps = 1.0 / 3;
  static constexpr std::uint64_t solve_steps = 2'000;
};

// Trees that first branch on what uniform choices use of every rank.
// Thread safety: a value.
struct UniformTreeParameters {
  // Work for one target: at first, the growth factor per level of effort, and the largest.
  std::uint64_t work = 8'000'000;
  std::uint64_t work_growth = 4;
  std::uint64_t most_work = 1'000'000'000;
  // Bisection ends after this many targets were given up for lack of work.
  std::uint32_t most_cut_short = 2;
  // Targets that serve only to suggest a plan, after a target at which nothing was left to divide.
  std::uint32_t suggestions = 4;
  // Work for column generation at a node.
  static constexpr std::uint64_t node_work = 4'000'000;
  // A node divides the widest interval of uniform use if it is wider than this fraction of a rank,
  // and otherwise the choices of a group of tables.
  static constexpr double least_width = 1e-3;
  // The fraction where no choice is left to divide.
  static constexpr double least_stuck_width = 1e-6;
  // The interval of a memory tier is divided only if the tier is at least this full.
  static constexpr double fullness = 0.9;
};

// Limits of the exhaustive search of a node's plans. The search takes a few thousand steps where
// few choices are possible. It finds at once that large shards do not fit beside each other, which
// a fractional mix of patterns does not show.
// Thread safety: a value.
struct NodeSearchParameters {
  // Steps for the root of the early tree, for the root of a tree for a lower target, and for a node
  // that nothing divides.
  static constexpr std::uint64_t early_root_steps = std::uint64_t{1} << 18;
  static constexpr std::uint64_t root_steps = std::uint64_t{1} << 19;
  static constexpr std::uint64_t leaf_steps = std::uint64_t{1} << 22;
  // Each failure at a node that nothing divides halves `leaf_steps`, down to this, until the target
  // rises: a search that fails at one target seldom ends at the next lower one.
  static constexpr std::uint64_t least_leaf_steps = std::uint64_t{1} << 18;
  // Steps for other nodes: at first, the largest number, and the smallest. A success doubles the
  // steps of a lane, a failure halves them. Below the smallest number the lane no longer searches.
  static constexpr std::uint64_t node_steps = std::uint64_t{1} << 15;
  static constexpr std::uint64_t most_node_steps = std::uint64_t{1} << 18;
  static constexpr std::uint64_t least_node_steps = std::uint64_t{1} << 12;
  // Largest number of search steps in a certificate, because its check repeats them.
  std::uint64_t proof_steps = std::uint64_t{1} << 24;
  // Steps of the search at the root: at first, and the growth factor per failure, to `proof_steps`.
  std::uint64_t first_root_steps = std::uint64_t{1} << 18;
  std::uint64_t root_steps_growth = 4;
  // Bisection at the root ends when its interval is shorter than this fraction of the goal: trees
  // raise the bound further.
  static constexpr double root_target_step = 3e-3;
  // Largest product of tables and ranks of a tiny problem. The search at the root is its first
  // method, and begins with `tiny_steps`, which take a tenth of a second.
  std::uint64_t most_tiny_cells = 64;
  static constexpr std::uint64_t tiny_steps = std::uint64_t{1} << 22;
  // Largest product of possible choices and ranks at which the root is searched.
  std::uint64_t most_root_cells = std::uint64_t{1} << 13;
  // Work of one search step, which reads all prices, in units of the budget.
  std::uint64_t step_work = 2;
  // Search steps between pauses, about the work of a lane in a round.
  static constexpr std::uint64_t steps_between_pauses = std::uint64_t{1} << 18;
  // Largest product of possible choices and ranks at which a node is searched.
  static constexpr std::uint64_t most_cells = std::uint64_t{1} << 16;
};

// All parameters of a BoundProver.
// Thread safety: a value.
struct BoundParameters {
  // A plan counts as optimal if the relative gap between its rating and the bound is at most this:
  // far less than the error of a cost model, far more than the rounding of a linear program.
  double optimality_gap = 1e-4;
  // If the master program would have more rows than this, only the aggregate bound and Lagrangian
  // trees are used: a larger program takes longer to solve than a whole search.
  std::size_t max_master_rows = 6'000;
  // When the rating has fallen by this fraction, the aggregate bound is computed again, since it
  // may exclude more choices, and trees begin anew.
  static constexpr double rating_fall = 1e-3;

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
