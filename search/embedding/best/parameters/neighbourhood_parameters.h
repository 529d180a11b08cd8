// Parameters of large-neighbourhood search by branch and bound.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

// Work is in updates of a rank or a shard. Thread safety: a value.
struct NeighbourhoodParameters {
  // Models of at most so many tables are also searched whole, first with so much work, then with
  // more by a factor, up to a last try: small models end with a proof, large ones never would.
  std::size_t most_whole_tables = 24;
  std::uint64_t first_whole_work = 20'000;
  std::uint64_t last_whole_work = 4'000'000;
  std::uint64_t whole_work_growth = 4;
  // Work for one neighbourhood. Beyond it another one is the better bet.
  std::uint64_t step_work = 20'000;
  // Tables or shards that are placed anew: fewer if their choices are free as well, since the tree
  // grows with both.
  std::size_t items_with_choices = 8;
  std::size_t items_placed = 14;
  // The window is the busiest rank and others, at least `least_window` ranks in all and up to
  // `window_spread` - 1 more. One in `on_host_one_in` stays on the host of the busiest rank, where
  // shards that are bound to a host can move.
  std::uint32_t least_window = 2;
  std::uint32_t window_spread = 3;
  std::uint32_t on_host_one_in = 3;
  // Draws of a rank before a smaller window is accepted.
  int window_draws = 20;
};

}  // namespace shardwright::embedding
