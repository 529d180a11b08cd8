// Parameters of the proof by trees over single ranks.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

// Trees in which every rank counts by itself.
// Thread safety: a value.
struct RankTreeParameters {
  // Open choices, times ranks: the linear program of a larger problem takes too long. 500 tables on
  // 8 ranks took twice as long as all else, for nothing.
  std::uint64_t most_cells = 6'000;
  // Larger shards of a choice on all ranks count if they take more than this part of a rank beyond
  // the smallest one. Most tables have one shard that is a row shorter: with 1e-4, programs are so
  // much larger that gaps are the same as without any.
  double least_extra = 1e-3;
  // What is kept of a node takes about a kilobyte.
  std::size_t max_nodes = std::size_t{1} << 17;
  // Of a certificate: nine tenths of what the check may take after a stop, and of what it may take
  // otherwise, at the goal. It may drop options in other rounds than the search.
  std::uint64_t most_check_steps = 30'000'000;
  std::uint64_t most_goal_check_steps = 480'000'000;
  // That share the tree. In a round each gets so many open nodes at most.
  std::uint32_t lanes = 16;
  std::size_t dealt_nodes = 32;
  // How often a node loses what is too dear, with new multipliers each time.
  std::uint32_t max_reductions = 3;
  // Strong branching tries so many candidates at most, and ends when so many were no better.
  std::uint32_t most_tried = 4;
  std::uint32_t look_ahead = 4;
  // What a division of a table gains is known once so many were tried.
  std::uint32_t reliable_tries = 8;
  // What a division gains before any was tried, in units of the target, and what a gain counts as
  // at least, so that a product tells divisions apart of which one child gains nothing.
  double first_gain = 1e-4;
  double least_gain = 1e-6;
  // How much the size of a table counts while none of its divisions was tried.
  double size_weight = 10;
  // Another tree is planted when the goal has fallen by this part.
  double replant_fall = 1e-2;
  // A tree is planted anew, with what its divisions gained, after so many nodes: the first
  // divisions decide how large it becomes. One problem took between 3,000 and 60,000 nodes, by
  // seed.
  std::size_t trial_nodes = 1'000;
  // A tree gets on if its bound rises by `least_step` or what is open falls by this part.
  double least_part = 1.0 / 8;
  // A certificate is written when the bound has risen by this part of what it is from the goal.
  double least_step = 1.0 / 16;
  // Plans are looked for at every so many nodes, in so many steps.
  std::uint32_t nodes_per_plan = 32;
  std::uint64_t plan_steps = std::uint64_t{1} << 16;
  // All plans of a node are tried, in at most so many steps, if there are no more than two to so
  // many. The second number is the first one that is tried; it follows how often searches end, and
  // falls by the third until one does.
  std::uint64_t leaf_search_steps = std::uint64_t{1} << 16;
  double first_searched_bits = 60;
  double first_bits_fall = 4;
  // A step of a search takes as long as so many of the proof.
  std::uint64_t search_step_work = 4;
  // Steps that take as long as a simplex pivot, and as the rest of a solution: a fixed part, and
  // one by rows and columns.
  std::uint64_t pivot_steps = 600;
  double pivot_size_steps = 1.2;
  std::uint64_t solve_steps = 2'000;
  double solve_size_steps = 8;
};

}  // namespace shardwright::embedding
