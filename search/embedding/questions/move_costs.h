// The parameters of the search that weighs the rating against moves, each with its reason.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/rank_flows.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

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

// Costs are in units of the rating. They add up over shards, so the moves of a plan cost the sum
// over its shards, up to rounding to whole bytes. A table that the old plan lacks moves for free.
// Refers to the model.
// Thread safety: immutable; const members may be called from any thread.
class MoveCosts {
 public:
  // Memory: O(shards x ranks) of a small model, O(old shards) of a large one.
  MoveCosts(const ChoiceModel& model, const HeldPlan& held);

  // O(1) for a small model; O(old shards of the table on the rank) for a large one.
  double cost(std::uint32_t choice, std::uint32_t shard, Rank rank) const {
    if (!table_costs_.empty()) return table_costs_[first_[choice] + shard * world_ + rank];
    return compute(choice, shard, rank);
  }
  // Of shard i on ranks[i]; of shard i on rank i if there are no ranks.
  double cost(std::uint32_t choice, std::span<const Rank> ranks) const;
  // Ranks that hold a part of the table, ascending.
  std::span<const Rank> holders(std::size_t table) const { return holders_[table]; }

 private:
  double compute(std::uint32_t choice, std::uint32_t shard, Rank rank) const;
  void fill_table_costs();

  const ChoiceModel* model_;
  std::size_t world_;
  MoveCharges charges_;
  std::vector<std::vector<Rank>> holders_;  // by table
  std::vector<std::size_t> first_;          // by choice, into table_costs_
  std::vector<double> table_costs_;         // empty for a large model
};

// The allocation with its ranks exchanged so that its moves cost least: hosts with hosts, and ranks
// with ranks of their host. The Hungarian method finds the cheapest ranks for every pair of hosts,
// then the cheapest hosts. Shards that lie in rank order (blocks of whole hosts, choices on all
// ranks) keep that order. On equal ranks without rules of their own the rating stays the same;
// elsewhere the caller must rate the answer anew. Takes label_work().
Allocation relabel_ranks(const ChoiceModel& model, const MoveCosts& costs,
                         const Allocation& allocation);

// The work of relabel_ranks(), in updates of a rank: O(shards x ranks + hosts^2 x
// local_world_size^3 + hosts^3).
std::uint64_t label_work(const ChoiceModel& model, const Allocation& allocation);

}  // namespace shardwright::embedding
