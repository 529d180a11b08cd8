// Parameters of the proof.
//
// A comment behind a default is the mean change of the work until a proof, or of the gap that is
// left, when the default is halved and doubled; + is worse: perf/parameters/README.md.
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
  // Kinds of ranks (memory and time scale) that are distinguished. If there are more, all ranks
  // count as one kind, as large as the largest and as fast as the fastest.
  static constexpr std::size_t max_kinds = 8;
  // Up to this many classes, kinds are split where loads differ from rank to rank.
  static constexpr std::size_t max_classes = 16;
  // Up to this many hosts, branching may make a class of every host, so that it can place a choice
  // on one of them. Every host is then a pricing problem of its own.
  std::uint32_t max_hosts = 4;
  // Up to this many classes, what uniform choices use of each is a class of its own, both counted.
  static constexpr std::size_t max_apart = 16;
  // Ranks with neighbouring loads are of different classes if the loads differ by this part of the
  // larger one. Smaller differences hardly weaken the bound.
  static constexpr double load_difference = 1e-3;
};

// Thread safety: a value.
struct AggregateParameters {
  // The most cutting planes for one bound. The limit ends programs in which the solver makes no
  // progress.
  static constexpr std::uint32_t max_rounds = 200;
  // The rounds end when the bound is this close to the most that the cuts allow, relatively: far
  // below the gap that counts as optimal.
  double gap = 1e-7;
  // Pricing steps that take as long as one solution of the small linear program, and as making it.
  static constexpr std::uint64_t program_steps = 2'000;
  static constexpr std::uint64_t new_program_steps = 6'000;
  // How often the domain of a node is reduced at most, with new multipliers each time.
  std::uint32_t max_reductions = 8;
  // Largest multiplier of a rank's whole memory, in units of the target. It keeps the first
  // programs bounded; no useful bound reaches it.
  double max_multiplier = 1e3;
};

// How thoroughly a pricing problem is searched.
// Thread safety: a value.
struct KnapsackParameters {
  // Labels that the first, incomplete search keeps per class. A good pattern lets the full search
  // drop most labels early.
  std::size_t beam_width = 64;  // halved: work -7.2 %; doubled: work -1.6 %
  // With more labels than this, the full search leaves the other item classes to a second half.
  // Both halves grow exponentially, so equal halves are best.
  std::size_t max_labels_of_first_half = 1'000;  // halved: work -3.1 %; doubled: work +0.7 %
  // With more labels than this, the full search gives up and the resources are rounded.
  static constexpr std::size_t max_labels = 20'000;
  // Units of a capacity when resources are rounded: fewer units leave fewer different labels, but
  // let patterns exceed the rank by more.
  static constexpr double rounding_units = 1 << 15;
  // A pattern that exceeds the dual value of its class by this much, relatively, is taken without a
  // proof that it is the best: column generation goes on with any improving column.
  double good_enough = 1e-3;  // halved: work -0.7 %; doubled: work +1.2 %
  // If a full search took at most this many steps, the next one is tried at once. A more expensive
  // one waits until incomplete searches find no column.
  std::uint64_t max_easy_steps = 50'000;  // halved: work +0.1 %; doubled: work -3.2 %
  // A label is compared with this many kept labels in all resources, besides the Pareto front of
  // HBM and value. Comparing all pairs takes quadratic time and finds little more.
  static constexpr std::size_t max_comparisons = 32;
  // Bisection steps for one multiplier. Each halves its error and costs a pass over all items.
  std::uint32_t multiplier_bisections = 30;  // halved: work -5.5 %; doubled: work +10.2 %
  // Golden-section steps for the multiplier of HBM. Each divides its error by 1.6.
  std::uint32_t hbm_sections = 40;  // halved: work -0.2 %; doubled: work +2.1 %
  // Joining the two halves counts one step for this many pairs of labels: comparing a pair is so
  // much cheaper than making a label.
  std::uint64_t pairs_per_step = 8;  // halved: work +2.8 %; doubled: work -1.6 %
  // A label takes as long as so many other steps.
  static constexpr std::uint64_t label_work = 2;
  // Factors on the best multipliers of load and HBM, for more relaxations. A label that has used
  // much load and little memory, or little load and much memory, is bounded better at other
  // multipliers.
  struct Scale {
    double load;
    double hbm;
  };
  // Halved: work +2.0 %; doubled: work -3.3 %.
  std::array<Scale, 4> other_relaxations{{{0.5, 1.5}, {1.5, 0.5}, {2.0, 0.0}, {0.0, 2.0}}};
};

// Thread safety: a value.
struct ColumnGenerationParameters {
  // The tables must be worth more than all ranks can hold by this much, relatively, to count as a
  // proof. It must exceed the slack and the rounding of the certificate's check.
  static constexpr double margin = 1e-7;
  // The relaxation counts as feasible if the ranks that it lacks are less than this fraction of all
  // ranks: the solver's tolerance.
  static constexpr double feasible_excess = 1e-9;
  // A pattern enters the program if its value exceeds the dual value of its class by this much,
  // relatively and absolutely: above the rounding of the dual values, or the same patterns return.
  static constexpr double min_relative_gain = 1e-9;
  static constexpr double min_gain = 1e-12;
  // Where pricing takes place between the dual values of the program (0) and the center (1).
  static constexpr double center_share = 0.6;
  // Pricing steps that take as long as one simplex pivot: a fixed part, and a third of a step per
  // row and column up to a maximum. Larger programs are so sparse that a pivot takes no longer.
  // Halved: work -24.4 %; doubled: work +40.9 %, 1 case not proved.
  std::uint64_t pivot_steps = 300;
  static constexpr std::uint64_t max_pivot_size_steps = 4'000;
  // `size`: rows and columns.
  std::uint64_t steps_per_pivot(std::uint64_t size) const {
    return pivot_steps + std::min(size / 3, max_pivot_size_steps);
  }
  // The same for the factorisation of a basis, by the square and the cube of rows and columns:
  // 0.1 ms for MLPerf DLRM, 1 ms for 100 tables on 16 ranks, 25 ms for 500 tables on 8.
  static constexpr double factor_square_steps = 0.15;
  static constexpr double factor_cube_steps = 1.2e-4;
  static constexpr double max_factor_steps = 3e6;
  // Patterns kept for later questions. Loading more takes longer than finding some again.
  static constexpr std::size_t max_known_patterns = 1'000;
  // When a solution for a group of equal tables is dealt out, a table is complete if no more than
  // this part of it is left: the rounding of the solver's values.
  double min_share = 1e-9;
  // Equal shards of all tables share a row of the master program: a pattern may then hold those of
  // one table in place of another's.
  bool shares_rows = false;
};

// Thread safety: a value.
struct BranchingParameters {
  // A branch must separate more than this part of all load or memory. What is less is rounding.
  static constexpr double min_separation = 1e-9;
  // A choice is divided before column generation if its sides differ by this part of all load or
  // memory: only a few tables can, so such a tree stays small.
  static constexpr double large_separation = 0.02;
  // A light tree goes on with smaller differences where it has no larger ones.
  static constexpr double light_separation = 0.005;
  // A number of tables that is far from whole matters more than how much the choices differ in
  // size, which enters the width of a branch with this power. With 1, MLPerf DLRM takes three times
  // as many nodes.
  static constexpr double size_exponent = 0.1;
  // A number of tables closer to a whole one than this is whole: the solver's tolerance.
  static constexpr double min_part = 1e-6;
  // A group branches on the places of a choice only if at least so many of its tables have it.
  double min_share = 0.5;  // halved: 0; doubled: work -0.8 %
  // Width of a branch on a choice whose shards are all in one place, as a part of its load. Such a
  // choice comes last, but it must be divided too, or the tree would not cover all plans.
  static constexpr double whole_width = 1e-3;
};

// Thread safety: a value.
struct BoundTargetParameters {
  // Work for the tree that comes before bisection.
  static constexpr std::uint64_t early_tree_work = 3'000'000;
  // Work for a tree without column generation, which is grown for every better plan.
  std::uint64_t light_work = 3'000'000;
  // Targets that such trees try if the rating fell much; otherwise one.
  std::uint32_t light_trees = 8;
  // Bisection ends when two targets are closer than this part of the rating: at the root node, and
  // with branching, where every target may take a whole tree.
  double root_step = 1e-3;  // halved: work +2.2 %, gap -0.3 %; doubled: work -1.3 %
  static constexpr double tree_step = 2e-5;
  // The same once a tree was cut short: more work for the farther targets gains more than a last
  // small step.
  static constexpr double cut_tree_step = 1e-2;
  // The first target lies below the rating by this part of the optimality gap. If it is proved, so
  // is the rating; a target closer to the rating would be harder for nothing.
  double goal_in_gap = 0.9;  // halved: work +1.0 %; doubled: 5 cases not proved
  // Work for the relaxation of the root node: at first, its growth if a question was cut short, and
  // the most. Small at first, since most problems are proved with little.
  std::uint64_t root_work = 8'000'000;  // halved: work +27.2 %; doubled: 0
  static constexpr std::uint64_t root_work_growth = 4;
  static constexpr std::uint64_t max_root_work = 128'000'000;
  // Work for the relaxation of one node of a tree.
  static constexpr std::uint64_t node_work = 40'000'000;
  // Work for one tree: at first, its growth if a tree was cut short, and the most. MLPerf DLRM on
  // two hosts takes 66 million; with half of this, two seeds of six end without its proof.
  static constexpr std::uint64_t tree_work = 128'000'000;
  static constexpr std::uint64_t tree_work_growth = 4;
  static constexpr std::uint64_t max_tree_work = 4'000'000'000;
  // If at least this part of a tree is proved, it goes on, with so many times its work, times that
  // part: the last nodes may be too hard, and other methods wait for the tree.
  static constexpr double closed_part = 0.25;
  static constexpr double most_extension = 16;
  // A tree without column generation goes on with this part of its work if `closed_part` of it
  // is proved. Case 43, of 500 tables in full memory, takes 4 million steps: it was cut short with
  // two nodes left, at a gap of 4.4 %.
  double light_extension = 0.5;
  // A target below the goal gets only a part of it. Its tree may be small; what is done for one
  // that is not is of little use for the goal.
  static constexpr std::uint64_t lower_tree_part = 8;
  // Lanes that share a tree, and its work before they do: small trees end sooner on one lane, which
  // begins with the next target at once.
  std::uint32_t tree_lanes = 16;
  std::uint64_t alone_work = 2'000'000;
  // Nodes of a tree, for all targets together.
  static constexpr std::size_t max_nodes = 4'000;
};

// Starts from fractional mixes of patterns.
// Thread safety: a value.
struct RoundingParameters {
  // Dives through the patterns of one fractional plan. None begins after so much work and, once
  // more was done before, after one of so many parts of that: it is 0.3 instead of 0.5 % for
  // hugectr_180 on 64 ranks after 30 s, and 0.2 instead of 0.7 % for recshard_rm2.
  static constexpr std::uint64_t tries = 64;
  std::uint64_t most_work = 2'000'000;
  static constexpr std::uint64_t parts_of_work = 32;
  // Places are given up if tables that take more than a rank, and more than this part of all ranks,
  // have none.
  static constexpr double most_unplaced = 1.0 / 64;
  // Patterns are priced at most so often before something is fixed, and with so much work in a
  // dive. Good ones suffice.
  std::uint32_t pricing_rounds = 4;
  static constexpr std::uint64_t most_pricing_work = 500'000;
  KnapsackParameters pricing{.multiplier_bisections = 12, .hbm_sections = 8};
  // Steps that take as long as a simplex pivot of one of these small programs, with a part by rows
  // and columns, and as the rest of a solution.
  std::uint64_t pivot_steps = 1'000;
  static constexpr double pivot_size_steps = 1.0 / 3;
  static constexpr std::uint64_t solve_steps = 2'000;
};

// Trees in which what uniform choices use of every rank is divided first.
// Thread safety: a value.
struct UniformTreeParameters {
  // Work for one target: at first, its growth with the effort of the proof, and the most.
  std::uint64_t work = 8'000'000;
  std::uint64_t work_growth = 4;
  std::uint64_t most_work = 1'000'000'000;
  // Bisection ends when so many targets were given up for lack of work.
  std::uint32_t most_cut_short = 2;
  // Targets above one at which nothing was left to divide that are only to suggest a plan.
  std::uint32_t suggestions = 4;
  // Work for column generation at a node.
  static constexpr std::uint64_t node_work = 4'000'000;
  // A node divides what a rank can hold until its parts differ by less than this part of it; then
  // it divides choices.
  static constexpr double least_width = 1e-3;
  // The same where no choice is left to divide.
  static constexpr double least_stuck_width = 1e-6;
  // Memory is divided where a rank is this full at least.
  static constexpr double fullness = 0.9;
};

// When all plans of a node are tried, instead of bounding them. The search takes a few thousand
// steps where few choices are open, and says at once that large shards do not fit beside each
// other, which no mix of patterns does.
// Thread safety: a value.
struct NodeSearchParameters {
  // Steps for the root of the early tree, for those of lower targets, and for a node that nothing
  // divides.
  static constexpr std::uint64_t early_root_steps = std::uint64_t{1} << 18;
  static constexpr std::uint64_t root_steps = std::uint64_t{1} << 19;
  static constexpr std::uint64_t leaf_steps = std::uint64_t{1} << 22;
  // Half as many for a node that nothing divides after each failure, down to this, until the target
  // rises: what is not found at one target seldom ends at the next lower one.
  static constexpr std::uint64_t least_leaf_steps = std::uint64_t{1} << 18;
  // Steps for other nodes: at first, at most, and when a lane no longer tries. Twice as many after
  // a success, half as many after a failure.
  static constexpr std::uint64_t node_steps = std::uint64_t{1} << 15;
  static constexpr std::uint64_t most_node_steps = std::uint64_t{1} << 18;
  static constexpr std::uint64_t least_node_steps = std::uint64_t{1} << 12;
  // Steps of a whole proof: its check repeats them.
  std::uint64_t proof_steps = std::uint64_t{1} << 24;
  // All plans below a target are tried at the root with so many steps at first, up to those of a
  // proof, and the growth when it failed.
  std::uint64_t first_root_steps = std::uint64_t{1} << 18;
  std::uint64_t root_steps_growth = 4;
  // Targets of bisection are no closer to each other than this part of the goal: a bound that is as
  // near is raised by trees.
  static constexpr double root_target_step = 3e-3;
  // Tables, times ranks: a problem of no more is tried first, and with so many steps at once, which
  // take a tenth of a second.
  std::uint64_t most_tiny_cells = 64;
  static constexpr std::uint64_t tiny_steps = std::uint64_t{1} << 22;
  // Open choices, times ranks: the root of a larger problem is not searched again and again.
  std::uint64_t most_root_cells = std::uint64_t{1} << 13;
  // A step of the search takes as long as so many of the proof: it looks at all prices.
  std::uint64_t step_work = 2;
  // A search pauses after so many steps, which take what a lane does in a round.
  static constexpr std::uint64_t steps_between_pauses = std::uint64_t{1} << 18;
  // Open choices, times ranks: larger nodes are not searched.
  static constexpr std::uint64_t most_cells = std::uint64_t{1} << 16;
};

// All that a BoundProver is told.
// Thread safety: a value.
struct BoundParameters {
  // A plan is proved optimal if the bound is closer to its rating than this, relatively: far less
  // than the error of a cost model, far more than the rounding of a linear program.
  double optimality_gap = 1e-4;  // halved: work +1.0 %; doubled: work -2.8 %
  // If the master program would have more rows than this, only the aggregate bound is used: a
  // larger program takes longer to solve than a whole search.
  std::size_t max_master_rows = 6'000;
  // When the rating has fallen by this part, the aggregate bound is computed again, as more choices
  // may be excluded, and trees begin anew.
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
