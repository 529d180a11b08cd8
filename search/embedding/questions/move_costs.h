// What moves from an old plan cost, and the parameters of the search that weighs them.
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
  // Units of work per update of a rank: the time of an update in steps of best mode.
  std::uint64_t work_per_update = 2;
  // Steps of the first cooling, per table and per rank, and the factor by which each cooling is
  // longer than the one before. Short coolings find plans nearby; long coolings cross barriers.
  std::uint64_t first_steps = 100;
  double step_growth = 1.5;
  std::uint64_t most_steps = 4'000'000;  // of one cooling, so that several targets are tried
  // Temperatures at the beginning of a cooling, one after another, and at its end, relative to the
  // cost of the best allocation.
  std::array<double, 5> hot{0.0001, 0.01, 0.001, 0.00001, 0.1};
  double cold = 1e-6;
  // One in `starts_one_in` coolings begins from a given plan, the others from the best allocation.
  std::size_t starts_one_in = 3;
  // Factor by which Cooling::scale grows every round while no feasible allocation is known.
  double scale_growth = 10;
  // Targets of the coolings in turn, as positions between the bound on ratings (0) and the largest
  // load of the allocation from which the cooling begins (1).
  std::array<double, 6> targets{0.5, 0.1, 0.9, 0, 0.75, 1};
  // Weights of bytes beyond the memory and of a broken rule, relative to Cooling::scale.
  double memory_weight = 20;
  double rule_weight = 0.5;
  // A shard is tried on 1 to `breadth` random ranks. If there are at most `most_breadth` ranks,
  // every second time it is tried on all.
  std::uint32_t breadth = 4;
  std::uint32_t most_breadth = 32;
  // One in `all_shards_one_in` shifts moves all shards that the table has on the rank.
  std::uint64_t all_shards_one_in = 4;
  // Under placement rules, one in `whole_place_one_in` new choices goes to one random host or rank.
  std::uint64_t whole_place_one_in = 4;
  // Frequencies of the kinds of steps, in sixteenths. The remaining steps move a shard to the rank
  // of another shard, which moves elsewhere.
  std::uint32_t home_sixteenths = 2;
  std::uint32_t choice_sixteenths = 5;
  std::uint32_t shift_sixteenths = 4;
  std::uint32_t swap_sixteenths = 3;
  // Up to these numbers of tables and ranks, all plans are searched: with
  // `first_steps_of_all_plans` steps, then each time with `step_growth_of_all_plans` times as many.
  std::size_t most_tables_of_all_plans = 12;
  std::uint32_t most_ranks_of_all_plans = 64;
  std::uint64_t first_steps_of_all_plans = std::uint64_t{1} << 18;
  std::uint64_t step_growth_of_all_plans = 4;
  // Subgradient steps of PriceBound: halved until they take at most 1 / `bound_part` of the work
  // left and at most `most_bound_work`. Below `least_price_steps` no step is made.
  int price_steps = 300;
  std::uint64_t least_price_steps = 5;
  std::uint64_t bound_part = 4;
  std::uint64_t most_bound_work = 100'000'000;
  // relabel_ranks() is called only if it takes at most this much work, about 0.1 s.
  std::uint64_t most_label_work = 16'000'000;
  // Steps and work between checks of the budget, which also update the temperature.
  std::uint64_t steps_between_checks = 256;
  std::uint64_t work_between_checks = 100'000;
};

// The cost of placing a shard on a rank, for the bytes that the rank does not hold in the old plan,
// in units of the rating. The moves of a plan cost the sum over its shards, up to rounding to whole
// bytes. A table that the old plan lacks moves for free. Refers to the model.
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
  // The cost of all shards: shard i on ranks[i], or on rank i if `ranks` is empty.
  double cost(std::uint32_t choice, std::span<const Rank> ranks) const;
  // The ranks that hold a part of the table in the old plan, ascending.
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

// Returns the allocation with hosts, and the ranks within each host, exchanged so that its moves
// cost least. The Hungarian method finds the cheapest ranks for every pair of hosts, then the
// cheapest hosts. Shards that lie in rank order (blocks of whole hosts, choices on all ranks) keep
// that order. On equal ranks without rules of their own the rating stays the same; elsewhere the
// caller must rate the answer anew. Cost: label_work().
Allocation relabel_ranks(const ChoiceModel& model, const MoveCosts& costs,
                         const Allocation& allocation);

// The work of relabel_ranks(), in updates of a rank: O(shards x ranks + hosts^2 x
// local_world_size^3 + hosts^3).
std::uint64_t label_work(const ChoiceModel& model, const Allocation& allocation);

}  // namespace shardwright::embedding
