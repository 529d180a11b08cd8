// All parameters of the operators' solver. The gap is the best known cost minus the lower bound.
// perf/parameters/README.md has the measured effect of halving and doubling each parameter.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "search/operators/elimination/bucket_tree.h"

namespace shardwright::operators {

// Thread safety: a value.
struct BlockSolverParameters {
  // Limit of the attempts per block. If an attempt exceeds a limit, the price at the exceeded time
  // point rises for the next attempt. A new block mostly gains more than further attempts.
  int most_attempts = 5;
  // The new price is this factor times the gain per byte of the choice that exceeded the limit.
  // With a factor of 1, that choice would cost as much as the best.
  double overshoot = 1.3;
  // If a table would be too large, one of `draws` random variables keeps its strategy: the one with
  // the largest table, since this shrinks the tables most. Random draws let different variables
  // keep their strategies in different blocks.
  int draws = 6;
};

// Thread safety: a value.
struct BlockPickerParameters {
  // A ball grows from a random node among the first `frontier_width` nodes of its frontier. So the
  // same start gives different balls. A large width turns balls into chains.
  std::size_t frontier_width = 4;
  // If the connected component of a ball is too small, the ball also takes nodes that follow its
  // first node in the node order, up to a distance of `fill_reach` times its size.
  std::size_t fill_reach = 8;
  // A block around holders of memory consists of about `holder_balls` balls, each of at least
  // `least_holder_ball` nodes. It takes at most `holder_tries_per_node` random draws per node.
  // Bytes can move between holders only if one block has both.
  std::size_t holder_balls = 4;
  std::size_t least_holder_ball = 4;
  std::size_t holder_tries_per_node = 4;
  // A stiff block starts at the most costly of 2^k random nodes, where 0 <= k < start_draw_powers
  // is drawn. So starts range from any node to the most costly nodes.
  std::uint32_t start_draw_powers = 10;
  // A change is dropped if it forces more nodes than this to change, since it would rarely gain.
  std::size_t most_followers = 600;
};

// Thread safety: a value.
struct BlockParameters {
  BlockSolverParameters solver;
  BlockPickerParameters picker;
};

// Parameters of PriceBundle. Thread safety: a value.
struct PriceBundleParameters {
  // Limit of the lines of the model. Few miss how limits interact; each costs a pass over all
  // chains.
  std::size_t most_lines = 12;
  // The first step, as a fraction of the step that would reach the target if the bound were linear.
  double first_step = 0.05;
  // Steps grow by `step_growth` if the first evaluation after a better bound gains more than the
  // fraction `enough_gain` of the gain that the model expects. Steps shrink by `large_step_decay`
  // if the bound falls by more than the expected gain. Otherwise they shrink by `step_decay` after
  // `patience` consecutive evaluations without a gain. The expected gain counts as at least the
  // fraction `least_gain` of the gap, since smaller gains come from better messages.
  double step_growth = 1.3;
  double enough_gain = 0.5;
  double large_step_decay = 0.6;
  double step_decay = 0.8;
  int patience = 3;
  double least_gain = 1e-4;
  // Time is divided into `stretches` intervals. In each interval, only the time point of the
  // largest excess may get a first price, since neighbouring time points hold similar bytes. A time
  // point without a price is dropped after `forget_after` steps without excess.
  std::size_t stretches = 64;
  std::uint64_t forget_after = 30;
  // Limit of the exchanges of weight between lines per step.
  unsigned most_exchanges = 200;
};

// Parameters of DualAscent. Thread safety: a value.
struct DualAscentParameters {
  PriceBundleParameters bundle;
  // Pairs of a forward and a backward pass in the first round. Until messages have settled, lines
  // are misleading and steps of the prices become too long.
  int first_sweeps = 10;
  // If the bound at new prices is worse by more than this fraction of the gap, the messages of the
  // best bound are restored, since messages at such prices are of no use.
  double spoiled = 0.02;
};

// Parameters of MemoryPrices. Thread safety: a value.
struct MemoryPriceParameters {
  // A single price is found by intersecting lines, in at most `most_single_steps` steps. Its first
  // value is `first_price` times cost / excess in bytes. It grows `price_growth`-fold while excess
  // remains.
  int most_single_steps = 60;
  double first_price = 1e-6;
  double price_growth = 8;
  // If a price is known from a similar problem, the first step multiplies or divides it by this
  // factor. Each further step squares the factor, up to `price_growth`.
  double known_price_step = 1.02;
  // Several prices are found by PriceBundle, in at most `most_steps` steps. The search ends when
  // `stretch` steps close less than the fraction `progress` of the gap.
  PriceBundleParameters bundle;
  int most_steps = 300;
  int stretch = 20;
  double progress = 1e-3;
  // Without a known cost, the target of the steps is the bound plus this fraction of the bound.
  double blind_target = 0.01;
};

// Parameters of LabelSearch and of its cutoffs. Thread safety: a value.
struct LabelParameters {
  // This many comparisons of bytes count as one combination of labels.
  std::uint64_t comparisons_per_combination = 8;
  // Limit of the combinations of all calls, per label allowed. Beyond it, other methods are better.
  std::uint64_t combinations_per_label = 16;
  // The cutoff rises in steps from the bound to the best known cost, or to the cost of the most
  // costly choice if none is known. The first step is this range divided by `first_step_parts`.
  // Each further step is `step_growth` times the previous one. A low cutoff keeps lists short.
  double first_step_parts = 16;
  double step_growth = 2;
};

// Parameters of CardinalityBranching. Thread safety: a value.
struct CountParameters {
  // Limit of the subproblems (parts). 0: no CardinalityBranching, only a LabelSearch.
  std::size_t most_parts = 0;
  // Limit of partial choices in the first part. If a division closes less than the fraction
  // `least_gain` of the gap, the limit of the part grows by `labels_growth`, up to `max_labels`.
  std::size_t first_labels = 10'000;
  double least_gain = 0.02;
  std::size_t labels_growth = 4;
  // First step of the cutoff, as a fraction of the bound; bounds of parts are mostly tight.
  double first_step = 1e-6;
};

// Parameters of search_exactly(). Thread safety: a value.
struct ExactParameters {
  MemoryPriceParameters memory_prices;
  LabelParameters labels;
  CountParameters counts;
};

// Parameters of branch_and_bound(). Thread safety: a value.
struct BranchParameters {
  // Subproblems that are processed at once: enough for the workers of a machine, few enough that
  // each batch profits from the results of the batch before.
  std::size_t batch = 8;
  // Limits of the tables and labels of each subproblem; low, since there are many subproblems.
  double most_table_entries = 1e6;
  std::size_t most_labels = 200'000;
  // Rounds of dual ascent per subproblem, and passes over all nodes in both directions per round.
  // The ascent ends after `stretch` rounds that close less than the fraction `progress` of the gap,
  // since division then gains more.
  int most_rounds = 150;
  int sweeps = 2;
  int stretch = 10;
  double progress = 0.03;
  // Without a known cost, the target of the ascent is the bound plus this fraction of the bound.
  double blind_target = 0.02;
  // A subproblem is reduced again if bounds exclude 1 / reduce_again_one_in of its strategies.
  std::size_t reduce_again_one_in = 20;
  // The node to divide is chosen by its strategies with bounds within this fraction of the gap.
  double near_share = 0.25;
};

// An arm is a shape, a size and a table limit of blocks. Arms that gained more per unit of work are
// picked more often. Table sizes are in entries. Thread safety: a value.
struct ArmParameters {
  // Sizes of balls, windows and blocks around holders, in nodes. Small blocks are cheap; large
  // blocks find changes that no small block can make.
  std::array<std::uint32_t, 4> sizes{8, 30, 100, 300};
  // Nodes of the largest ball, which gets large tables.
  std::uint32_t largest_ball = 1000;
  // Nodes around a change that forces other nodes to change.
  std::uint32_t follow_size = 30;
  // Sizes of stiff blocks, in nodes. Each is tried with tables of both sizes.
  std::array<std::uint32_t, 3> stiff_sizes{10, 40, 150};
  // Limit of the tables of the elimination. A variable that needs a larger one keeps its strategy.
  std::size_t table = 20'000;
  std::size_t large_table = 300'000;
  // Gains and work are multiplied by `fade` after every batch, since the best arms change.
  double fade = 0.98;
  // Every arm gets at least the fraction `least_share` of the blocks, so that a bad start does not
  // end the arm. An arm whose blocks take more work than the mean gets this fraction of the work
  // instead, unless its faded number of blocks is below `forgotten`.
  double least_share = 0.03;
  double forgotten = 0.01;
};

// The relaxed phase ignores memory limits; prices alone make memory costly. Prices take a step
// after each pass over all nodes. Entry i of each array describes the same cycle.
// Thread safety: a value.
struct RelaxationParameters {
  // Number of steps of the first cycles, and the size of their first step: the sum over time points
  // of price change times excess, as a fraction of the cost.
  std::array<int, 2> first_steps{12, 40};
  std::array<double, 2> first_sizes{0.1, 0.1};
  // The same for later cycles, in rotation. Small steps stay near the best choice.
  std::array<int, 3> later_steps{8, 16, 40};
  std::array<double, 3> later_sizes{0.01, 0.03, 0.08};
  // The same for cycles that begin with a choice and prices of the dual ascent. Their steps are
  // small, since these prices are good already.
  std::array<int, 2> suggested_steps{40, 80};
  double suggested_size = 0.03;
  // Each step is `decay` times the previous step, so that prices settle.
  double decay = 0.95;
  // If the current cost exceeds `give_up` times the best cost, a cycle begins from the best choice.
  double give_up = 1.02;
};

// How prices move outside of the relaxed phase. Thread safety: a value.
struct PriceParameters {
  // Repair: the price of an exceeded time point rises by the larger of `raise_of_own` times itself
  // and `raise_of_largest` times the largest price, until the limits hold.
  double raise_of_own = 0.2;
  double raise_of_largest = 0.05;
  // Strict: if a limit blocked a gain, its price rises by this fraction of the gain per byte.
  double blocked_step = 0.1;
  // Strict: a price is multiplied by `decay` per pass if more than `room` times the limit is free.
  double room = 0.002;
  double decay = 0.97;
};

// Thread safety: a value.
struct LocalSearchParameters {
  // Blocks of a batch: enough for the workers of a machine, few enough to share results soon.
  std::size_t blocks_per_batch = 16;
  // The strict phase ends if `strict_passes` passes lower the cost by less than `progress` of it.
  std::uint64_t strict_passes = 20;
  double progress = 1e-5;
  ArmParameters arms;
  RelaxationParameters relaxation;
  PriceParameters prices;
  BlockParameters blocks;
};

// Thread safety: a value.
struct ReduceParameters {
  // Rules in use. Measurements switch single rules off.
  bool splits_separable_edges = true;
  bool merges_functional = true;
  bool eliminates_nodes = true;
  bool reduces_memory = true;
  bool removes_dominated = true;
  // A node whose strategy is a function of a neighbour's strategy is merged into the neighbour,
  // unless all matrices together would have more entries than this (16 MiB).
  std::size_t most_merged_entries = std::size_t{1} << 21;
  // Eliminating a node of two neighbours makes an edge between them. The edge may have `most_fill`
  // entries, or `fill_growth` times the entries of the edges that it replaces.
  std::size_t most_fill = 4096;
  std::size_t fill_growth = 4;
};

// Parameters of first_feasible(). Thread safety: a value.
struct FeasibleParameters {
  // Limit of the rounds. Each round assigns strategies with new weights of the time points. Weights
  // that have not settled after these rounds rarely settle.
  int most_rounds = 60;
  // Restarts after an assignment that leads to a contradiction. The first `steered_restarts` begin
  // with the nodes whose strategies differ most in weighted bytes; the others take nodes in random
  // order. Both prefer the nodes that failed most often.
  int most_restarts = 40;
  int steered_restarts = 20;
  // For each node, the number of strategies whose consequences are computed, lightest first. Nodes
  // may have hundreds of strategies, and computing all would cost more than it gains.
  std::size_t most_trials = 24;
  // The weight of a time point is multiplied by its fill (bytes / limit, at least `least_fill`) to
  // this power. A high power moves the weight to the exceeded limits within one round.
  double fill_power = 12;
  double least_fill = 0.01;
  // No weight falls below this fraction of the largest, so that all time points can matter again.
  double least_weight = 1e-6;
};

// How much solve() spends on each stage. Thread safety: a value.
struct StageParameters {
  // Limits of the exact search on the core: table entries (about a second of work), and labels.
  double most_table_entries = 2e7;
  std::size_t most_labels = 3'000'000;
  // Cores with more strategies are large. Large cores get the local search, since branch and bound
  // would reduce the whole core again in every subproblem.
  std::size_t most_branched_strategies = 30'000;
  // For large cores: passes of the local search before the dual ascent, for an early answer.
  std::uint64_t descent_passes = 2;
  // Rounds of dual ascent on the core, and passes over all nodes in both directions per round. The
  // ascent ends after `stretch` rounds that close less than the fraction `progress` of the gap.
  int most_rounds = 800;
  int sweeps = 2;
  int stretch = 40;
  double progress = 1e-3;
  // Limit of the work of all rounds. If it allows fewer than `least_rounds` rounds, only one round
  // is made, for its bound, since prices after a few steps are of no use.
  std::uint64_t most_relaxation_work = 3'000'000'000;
  int least_rounds = 60;
  // Beside the local search, the ascent does `ascent_share` times the work of the search, until
  // `last_stretch` rounds close less than the fraction `last_progress` of the gap. Whenever the
  // bound has closed the fraction `suggested_progress` of the gap, the search begins a cycle with
  // the choice that the messages suggest.
  double ascent_share = 0.5;
  int last_stretch = 100;
  double last_progress = 1e-3;
  double suggested_progress = 1e-3;
  // Without a known cost, the target of the ascent is the bound plus this fraction of the bound.
  double blind_target = 0.05;
  // After the ascent, the local search ends after this many batches without a better choice.
  std::size_t patience = 2000;
};

// Thread safety: a value.
struct SolverParameters {
  StageParameters stages;
  ReduceParameters reduce;
  TableOrderParameters order;
  ExactParameters exact;
  DualAscentParameters dual;
  BranchParameters branch;
  FeasibleParameters feasible;
  LocalSearchParameters local;
};

}  // namespace shardwright::operators
