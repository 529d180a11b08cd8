// All parameters of the operators' solver.
//
// perf/parameters/README.md has the measured effect of halving and doubling each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "search/operators/elimination/bucket_tree.h"

namespace shardwright::operators {

// Thread safety: a value.
struct BlockSolverParameters {
  // A block is solved at most this often: each time the price of the time point that was exceeded
  // rises. More attempts cost as much as a new block, which is the better bet.
  int most_attempts = 5;
  // The price is this factor of the gain per byte of the choice that exceeded memory. At 1 that
  // choice would still tie with the best.
  double overshoot = 1.3;
  // A variable whose table would be too large keeps its strategy. It is the heaviest of this many
  // random ones: random so that every variable gets its turn over many blocks, the heaviest
  // because fixing it frees most.
  int draws = 6;
};

// Thread safety: a value.
struct BlockPickerParameters {
  // A ball grows next from one of the first so many nodes of its frontier. Some disorder makes the
  // same start give different balls; too much makes chains of them.
  std::size_t frontier_width = 4;
  // If the component of a ball is too small to fill it, the ball goes on with the nodes that follow
  // its first one in order. It looks at most this many times its size ahead.
  std::size_t fill_reach = 8;
  // A block around holders of memory has about so many balls, of at least so many nodes each, and
  // gives up after so many tries per node: holders must be in one block to exchange bytes.
  std::size_t holder_balls = 4;
  std::size_t least_holder_ball = 4;
  std::size_t holder_tries_per_node = 4;
  // A stiff block starts at the node of highest cost out of 1, 2, 4, ... random ones. This is the
  // number of powers of two that are drawn from: sometimes anywhere, sometimes at the worst.
  std::uint32_t start_draw_powers = 10;
  // A change that more nodes than this have to follow is dropped: it would hardly pay.
  std::size_t most_followers = 600;
};

// Thread safety: a value.
struct BlockParameters {
  BlockSolverParameters solver;
  BlockPickerParameters picker;
};

// Parameters of PriceBundle.
// Thread safety: a value.
struct PriceBundleParameters {
  // Lines of the model. Fewer know too little of how limits depend on each other; each costs a look
  // at all chains per round.
  std::size_t most_lines = 12;
  // The first step, as a part of the one that would reach the target if the bound were linear.
  double first_step = 0.05;
  // Steps grow by `step_growth` if the first evaluation after a better bound gains at least
  // `enough_gain` of what the model expects. They shrink by `large_step_decay` if the bound falls
  // by more than was expected to be gained, and by `step_decay` if `patience` evaluations in a row
  // gain nothing. A model that expects less than `least_gain` of the gap counts as one that expects
  // this: better messages, not prices, raise the bound then.
  double step_growth = 1.3;
  double enough_gain = 0.5;
  double large_step_decay = 0.6;
  double step_decay = 0.8;
  int patience = 3;
  double least_gain = 1e-4;
  // Time is divided into so many stretches, and of each only the worst exceeded time point gets a
  // first price: neighbours hold much the same. A time point without a price is forgotten after
  // `forget_after` steps in which its limit was not exceeded.
  std::size_t stretches = 64;
  std::uint64_t forget_after = 30;
  // Exchanges of weight among lines in a step.
  unsigned most_exchanges = 200;
};

// Parameters of DualAscent.
// Thread safety: a value.
struct DualAscentParameters {
  PriceBundleParameters bundle;
  // Passes in both directions in the first round. Lines are worth little, and steps become too
  // long, while it is the messages that raise the bound.
  int first_sweeps = 10;
  // Prices whose bound is worse by more than this part of the gap spoil the messages, which then
  // return to those of the best bound.
  double spoiled = 0.02;
};

// Parameters of MemoryPrices.
// Thread safety: a value.
struct MemoryPriceParameters {
  // A single price is found by intersecting lines: steps at most, the first price as a part of the
  // cost per byte, and its factor while the limit is still exceeded.
  int most_single_steps = 60;
  double first_price = 1e-6;
  double price_growth = 8;
  // Where a price is known that was good for a similar problem, the first step multiplies or
  // divides it by this, and each further one by the square, up to `price_growth`.
  double known_price_step = 1.02;
  // Several prices take steps by a bundle of lines: at most so many, until a stretch of `stretch`
  // steps closes less than `progress` of the gap.
  PriceBundleParameters bundle;
  int most_steps = 300;
  int stretch = 20;
  double progress = 1e-3;
  // Steps aim at the best known cost; while there is none, this part above the bound.
  double blind_target = 0.01;
};

// Parameters of LabelSearch and of its cutoffs.
// Thread safety: a value.
struct LabelParameters {
  // Comparisons of bytes that are charged as one combination: what they cost.
  std::uint64_t comparisons_per_combination = 8;
  // Combinations that all calls together may look at, per label that may be kept. Beyond it another
  // method is the better bet.
  std::uint64_t combinations_per_label = 16;
  // The cutoff rises from the bound to the best known cost, or to that of the dearest choice while
  // none is known. The first step is one part in so many of the way, and each is `step_growth`
  // times the one before: lists grow steeply with the cutoff, and a cheap choice is proved by short
  // ones.
  double first_step_parts = 16;
  double step_growth = 2;
};

// Parameters of CountSearch.
// Thread safety: a value.
struct CountParameters {
  // 0: lists alone.
  std::size_t most_parts = 0;
  // Partial choices of the first part. Where dividing closes less than `least_gain` of the gap,
  // parts may have `labels_growth` times as many, up to those of the whole search.
  std::size_t first_labels = 10'000;
  double least_gain = 0.02;
  std::size_t labels_growth = 4;
  // The first step of cutoffs, as a part of the bound: bounds of parts are mostly tight.
  double first_step = 1e-6;
};

// Parameters of search_exactly().
// Thread safety: a value.
struct ExactParameters {
  MemoryPriceParameters memory_prices;
  LabelParameters labels;
  CountParameters counts;
};

// Parameters of branch_and_bound().
// Thread safety: a value.
struct BranchParameters {
  // Subproblems that are processed at once. Enough for the workers of a machine, few enough to use
  // what the batch before has found.
  std::size_t batch = 8;
  // A subproblem is closed by tables of at most so many entries and so many labels. Smaller than at
  // the root, as there are many.
  double most_table_entries = 1e6;
  std::size_t most_labels = 200'000;
  // Rounds of dual ascent for a subproblem, and passes over all nodes in both directions per round.
  // It ends after `stretch` rounds that close less than `progress` of the gap: dividing pays more.
  int most_rounds = 150;
  int sweeps = 2;
  int stretch = 10;
  double progress = 0.03;
  // The ascent aims at the best known cost; while there is none, this part above the bound.
  double blind_target = 0.02;
  // A subproblem is reduced again if the bounds excluded more than one strategy in so many.
  std::size_t reduce_again_one_in = 20;
  // The node to divide is chosen by its strategies whose bound is within this part of the gap.
  double near_share = 0.25;
};

// An arm is a shape and a size of blocks. Arms that gained more per work are picked more often.
// Table sizes are in entries.
// Thread safety: a value.
struct ArmParameters {
  // Shapes in use, by BlockKind, for measurements without one.
  std::array<bool, 5> kinds{true, true, true, true, true};
  // Sizes of balls, windows and blocks around holders, in nodes: small ones are cheap, large ones
  // find changes that no small one can make.
  std::array<std::uint32_t, 4> sizes{8, 30, 100, 300};
  // Nodes of the largest ball, which gets large tables.
  std::uint32_t largest_ball = 1000;
  // Nodes around a change that others must follow.
  std::uint32_t follow_size = 30;
  // Sizes of stiff blocks, each tried with tables of both sizes.
  std::array<std::uint32_t, 3> stiff_sizes{10, 40, 150};
  // Largest table of the elimination. A variable that needs a larger one keeps its strategy.
  std::size_t table = 20'000;
  std::size_t large_table = 300'000;
  // Gains and work are multiplied by this after every batch: what paid at the start no longer does
  // at the end.
  double fade = 0.98;
  // Every arm gets at least this share of the blocks, or one bad start would end it. One whose
  // blocks take more work than the mean gets it of the work: the largest balls took half of all. An
  // arm with less than `forgotten` of a block, faded like gains, is tried again.
  double least_share = 0.03;
  double forgotten = 0.01;
};

// While relaxed, prices alone hold memory back. A step of the prices is made after each pass over
// all nodes. The array elements belong together by index.
// Thread safety: a value.
struct RelaxationParameters {
  // Steps of the first cycles, and the part of the cost that their first step is worth.
  std::array<int, 2> first_steps{12, 40};
  std::array<double, 2> first_sizes{0.1, 0.1};
  // Those of the cycles that follow, in turn: small steps stay near the best choice, large ones
  // leave it.
  std::array<int, 3> later_steps{8, 16, 40};
  std::array<double, 3> later_sizes{0.01, 0.03, 0.08};
  // Steps of cycles that begin with a choice and prices of the dual ascent, in turn, and the part
  // of the cost that their first step is worth: such prices are good already.
  std::array<int, 2> suggested_steps{40, 80};
  double suggested_size = 0.03;
  // Each step is this part of the one before, so that prices settle.
  double decay = 0.95;
  // A cycle begins from the best choice if the current one costs more than this factor of it.
  double give_up = 1.02;
};

// How prices move outside of the relaxed phase.
// Thread safety: a value.
struct PriceParameters {
  // Repair: the price of an exceeded time point rises by this part of itself, or by this part of
  // the largest price if that is more, until the limits hold.
  double raise_of_own = 0.2;
  double raise_of_largest = 0.05;
  // Strict: if memory blocked a gain, the price there rises by this part of the gain per byte.
  double blocked_step = 0.1;
  // Strict: prices where more than `room` of the limit is free are multiplied by `decay` per pass.
  double room = 0.002;
  double decay = 0.97;
};

// Thread safety: a value.
struct LocalSearchParameters {
  // Blocks of a batch. Enough for the workers of a machine, few enough that blocks see each
  // other's results.
  std::size_t blocks_per_batch = 16;
  // The strict phase ends after so many passes over all nodes that lower the cost by less than
  // `progress` of it.
  std::uint64_t strict_passes = 20;
  double progress = 1e-5;
  ArmParameters arms;
  RelaxationParameters relaxation;
  PriceParameters prices;
  BlockParameters blocks;
};

// Thread safety: a value.
struct ReduceParameters {
  // Rules, for measurements without one.
  bool splits_separable_edges = true;
  bool merges_functional = true;
  bool eliminates_nodes = true;
  bool reduces_memory = true;
  bool removes_dominated = true;
  // A node of which another one is a function is merged into it unless its matrices would grow and
  // have more entries than this together, 16 MiB.
  std::size_t most_merged_entries = std::size_t{1} << 21;
  // Eliminating a node of two neighbours makes an edge between them. It is made if it has at most
  // so many entries, or at most `fill_growth` times those of the edges that it replaces.
  std::size_t most_fill = 4096;
  std::size_t fill_growth = 4;
};

// Parameters of first_feasible().
// Thread safety: a value.
struct FeasibleParameters {
  // Assignments that are tried, each with new weights of the time points. Weights settle long
  // before this; if they do not, more rounds do not help.
  int most_rounds = 60;
  // Restarts of an assignment that runs into a contradiction. Of these, the first so many begin
  // with the nodes whose strategies differ most in weighted bytes, the others in random order.
  int most_restarts = 40;
  int steered_restarts = 20;
  // Strategies of a node whose consequences are tried, lightest first: trying all of a node with
  // hundreds costs more than it finds.
  std::size_t most_trials = 24;
  // A time point's weight is multiplied by its fill (bytes / limit, at least `least_fill`) to this
  // power. High, so that one round moves the weight to where the limit is exceeded.
  double fill_power = 12;
  double least_fill = 0.01;
  // No weight falls below this part of the largest, so that a time point can return.
  double least_weight = 1e-6;
};

// What solve() itself decides: how much is spent on which stage.
// Thread safety: a value.
struct StageParameters {
  // The core is solved by tables of at most so many entries, about a second, and by at most so many
  // labels.
  double most_table_entries = 2e7;
  std::size_t most_labels = 3'000'000;
  // Cores of more strategies are large: branch and bound, which reduces every subproblem anew, is
  // left out, and the local search improves them instead.
  std::size_t most_branched_strategies = 30'000;
  // Large cores: passes of the local search within the limits before the bounds, for an early
  // answer.
  std::uint64_t descent_passes = 2;
  // Rounds of dual ascent on the core, and passes over all nodes in both directions per round. It
  // ends after `stretch` rounds that close less than `progress` of the gap.
  int most_rounds = 800;
  int sweeps = 2;
  int stretch = 40;
  double progress = 1e-3;
  // Rounds are limited to this much work. If that pays for fewer than `least_rounds`, one round is
  // made for its bound: prices that have moved a few times only are worth nothing.
  std::uint64_t most_relaxation_work = 3'000'000'000;
  int least_rounds = 60;
  // Beside the local search the ascent does this part of its work, and goes on until `last_stretch`
  // rounds close less than `last_progress` of the gap. A choice that its messages suggest begins a
  // cycle of the search once the bound has closed `suggested_progress` of the gap since the one
  // before.
  double ascent_share = 0.5;
  int last_stretch = 100;
  double last_progress = 1e-3;
  double suggested_progress = 1e-3;
  // The ascent aims at the best known cost; while there is none, this part above the bound.
  double blind_target = 0.05;
  // Strategies per node of the problem that is solved for a good choice before branch and bound:
  // those with the lowest bounds.
  std::size_t near_strategies = 6;
  // Batches without a better choice after which the local search ends, once the ascent has.
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
