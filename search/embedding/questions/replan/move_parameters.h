// The parameters of the search that weighs the rating against moves, each with its reason.
#pragma once

#include <array>
#include <cstdint>

namespace shardwright::embedding {

// Thread safety: a value.
struct ReplanMoveParameters {
  // Units of work per update of a rank: one takes about as long as so many steps of best mode.
  std::uint64_t work_per_update = 2;
  // Steps of the first cooling per table and rank together, and the factor by which each cooling is
  // longer than the one before. Short ones find what is near; long ones cross barriers.
  std::uint64_t first_steps = 100;
  double step_growth = 1.5;
  std::uint64_t most_steps = 4'000'000;  // of one cooling, so that several targets are tried
  // Temperatures at the beginning of a cooling, one after another, and at its end, relative to the
  // cost of the best allocation.
  std::array<double, 5> hot{0.0001, 0.01, 0.001, 0.00001, 0.1};
  double cold = 1e-6;
  // Every so many-th cooling begins from one of the plans that the search was given.
  std::size_t starts_one_in = 3;
  // What the scale of a cooling grows by while nothing feasible was found.
  double scale_growth = 10;
  // Loads count above a target. These are its positions between the bound (0) and the largest load
  // of the best allocation (1), one cooling after another.
  std::array<double, 6> targets{0.5, 0.1, 0.9, 0, 0.75, 1};
  // What bytes beyond the memory and a broken rule cost, relative to the best allocation.
  double memory_weight = 20;
  double rule_weight = 0.5;
  // Random ranks that a shard is tried on, unless all are tried: every `all_ranks_one_in`-th time.
  std::uint32_t breadth = 4;
  std::uint32_t most_breadth = 32;
  // One shift in this many moves all shards of the table on that rank.
  std::uint64_t all_shards_one_in = 4;
  // Under placement rules, one in this many new choices goes to one random host or rank as a whole.
  std::uint64_t whole_place_one_in = 4;
  // Kinds of steps, in sixteenths; the rest puts a shard in place of another one.
  std::uint32_t home_sixteenths = 2;
  std::uint32_t choice_sixteenths = 5;
  std::uint32_t shift_sixteenths = 4;
  std::uint32_t swap_sixteenths = 3;
  // All plans of a model of at most so many tables and ranks are tried, with this many steps at
  // first and `step_growth_of_all_plans` times as many every time.
  std::size_t most_tables_of_all_plans = 12;
  std::uint32_t most_ranks_of_all_plans = 64;
  std::uint64_t first_steps_of_all_plans = std::uint64_t{1} << 18;
  std::uint64_t step_growth_of_all_plans = 4;
  // Steps of the bound; fewer where they would take more than this part of the work, and none where
  // so few are left that they prove little.
  int price_steps = 300;
  std::uint64_t least_price_steps = 5;
  std::uint64_t bound_part = 4;
  std::uint64_t most_bound_work = 100'000'000;
  // Ranks of a better plan are exchanged so that the least bytes move, if that takes at most so
  // much work, about 0.1 s.
  std::uint64_t most_label_work = 16'000'000;
  // Between checks of the budget and of the temperature.
  std::uint64_t steps_between_checks = 256;
  std::uint64_t work_between_checks = 100'000;
};

}  // namespace shardwright::embedding
