// Parameters of the methods that prove optima and bounds.
//
// perf/parameters/README.md has the measured effect of halving and doubling each.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::operators {

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
  // If lists become too long, they keep so many labels each in search of a good choice.
  std::size_t beam_width = 32;
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

}  // namespace shardwright::operators
