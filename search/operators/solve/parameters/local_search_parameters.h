// Parameters of the local search: its blocks, its arms and its prices.
//
// perf/parameters/README.md has the measured effect of halving and doubling each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "search/operators/solve/parameters/block_parameters.h"

namespace shardwright::operators {

// An arm is a shape and a size of blocks. Arms that gained more per work are picked more often.
// Table sizes are in entries.
// Thread safety: a value.
struct ArmParameters {
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

}  // namespace shardwright::operators
