// Parameters of the block solver and of how blocks are picked.
//
// perf/parameters/README.md has the measured effect of halving and doubling each.
#pragma once

#include <cstddef>
#include <cstdint>

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

}  // namespace shardwright::operators
