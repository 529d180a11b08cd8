// Parameters of large-neighbourhood search by branch and bound.
//
// A comment behind a default is the mean change of ratings at fixed work, + is worse, when it is
// halved and doubled: perf/parameters/README.md.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

// Work is in updates of a rank or a shard.
// Thread safety: a value.
struct NeighbourhoodParameters {
  bool is_on = true;  // otherwise only small models are tried whole
  // Models of at most this many tables are also searched as a whole, first with `first_whole_work`,
  // then with more by a factor, up to `last_whole_work`. Small models end with a proof; large ones
  // never would.
  std::size_t most_whole_tables = 24;         // halved +0.019 %, doubled +0.001 %
  std::uint64_t first_whole_work = 20'000;    // halved, doubled: 0
  std::uint64_t last_whole_work = 4'000'000;  // halved, doubled: 0
  std::uint64_t whole_work_growth = 4;        // halved, doubled: 0
  // Work for one neighbourhood. Beyond it another one is the better bet.
  std::uint64_t step_work = 20'000;  // halved 0, doubled -0.003 %
  // Tables or shards that are placed again: fewer if their choices are free as well, since the tree
  // grows with both.
  std::size_t items_with_choices = 8;  // halved -0.029 %, doubled +0.013 %
  std::size_t items_placed = 14;       // halved +0.022 %, doubled +0.024 %
  // The window is the busiest rank and others, at least `least_window` ranks and up to
  // `window_spread` - 1 more. One in `on_host_one_in` stays on the host of the busiest rank, where
  // shards that are bound to a host can move.
  std::uint32_t least_window = 2;    // halved +0.018 %, doubled +0.005 %
  std::uint32_t window_spread = 3;   // halved +0.003 %, doubled -0.064 %
  std::uint32_t on_host_one_in = 3;  // halved +0.008 %, doubled -0.012 %
  // Draws of a rank before a smaller window is accepted.
  int window_draws = 20;  // halved, doubled: 0
};

}  // namespace shardwright::embedding
