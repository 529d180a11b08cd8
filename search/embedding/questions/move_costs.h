// The cost of moves from an old plan, and the parameters of the search that minimises this cost.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/embedding/rank_flows.h"
#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// Thread safety: a value.
struct ReplanMoveParameters {
  // Units of work for one update of a rank's load, so that work takes as long as in best mode.
  std::uint64_t work_per_update = 2;
  // Steps of the first cooling, per table and per rank, and the factor by which each cooling is
  // longer than the cooling before. Long coolings find plans that are farther from their start.
  std::uint64_t first_steps = 100;
  double step_growth = 1.5;
  std::uint64_t most_steps = 4'000'000;                         // of one cooling
  double most_moved = std::numeric_limits<double>::infinity();  // cost of moves of the best one
  // Temperatures relative to the cost of the best allocation. Successive coolings begin at
  // successive values of `hot`; all end at `cold`.
  std::array<double, 5> hot{0.0001, 0.01, 0.001, 0.00001, 0.1};
  double cold = 1e-6;
  // One in `starts_one_in` coolings begins from a given plan, all others from the best allocation.
  std::size_t starts_one_in = 3;
  // Factor by which Cooling::scale grows every round while no feasible allocation is known.
  double scale_growth = 10;
  // Targets of successive coolings, as positions between the lower bound of ratings (0) and the
  // largest load of the allocation from which the cooling begins (1).
  std::array<double, 6> targets{0.5, 0.1, 0.9, 0, 0.75, 1};
  // Weights of memory beyond the capacity and of a broken rule, relative to Cooling::scale.
  double memory_weight = 20;
  double rule_weight = 0.5;
  // A shard is tried on 1 to `breadth` random ranks. If there are at most `most_breadth` ranks,
  // every second shard is tried on all ranks.
  std::uint32_t breadth = 4;
  std::uint32_t most_breadth = 32;
  // One in `all_shards_one_in` shifts moves all shards of a table on a rank.
  std::uint64_t all_shards_one_in = 4;
  // Under placement rules, one in `kWholePlaceOneIn` new choices goes to one random host or rank.
  std::uint64_t whole_place_one_in = 4;
  // Frequencies of the kinds of steps, in sixteenths: return a table to the old plan, change a
  // choice, shift a shard, swap two shards. All other steps eject: they move a shard to a rank and
  // a shard of that rank elsewhere.
  std::uint32_t home_sixteenths = 2;
  std::uint32_t choice_sixteenths = 5;
  std::uint32_t shift_sixteenths = 4;
  std::uint32_t swap_sixteenths = 3;
  // Up to these numbers of tables and ranks, all plans are searched, at first with
  // `first_steps_of_all_plans` steps, then each time with `step_growth_of_all_plans` times as many.
  std::size_t most_tables_of_all_plans = 12;
  std::uint32_t most_ranks_of_all_plans = 64;
  std::uint64_t first_steps_of_all_plans = std::uint64_t{1} << 18;
  std::uint64_t step_growth_of_all_plans = 4;
  // Subgradient steps of PriceBound. The number is halved until the steps take at most 1 /
  // `bound_part` of the work left and at most `most_bound_work`. If it is below
  // `least_price_steps`, there are none.
  int price_steps = 300;
  std::uint64_t least_price_steps = 5;
  std::uint64_t bound_part = 4;
  std::uint64_t most_bound_work = 100'000'000;
  // relabel_ranks() is called only if it takes at most this much work, about 0.1 s.
  std::uint64_t most_label_work = 16'000'000;
  // Steps and work between two checks of the budget. A check also updates the temperature.
  std::uint64_t steps_between_checks = 256;
  std::uint64_t work_between_checks = 100'000;
};

// The cost of placing a shard on a rank, in units of the rating, for the bytes of the shard that
// the rank does not hold in the old plan. The cost of moves of a plan is the sum over its shards,
// up to rounding to whole bytes. Tables that the old plan lacks cost nothing. Refers to the model.
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
  // The cost of all shards of a choice: shard i on ranks[i], or on rank i if `ranks` is empty.
  double cost(std::uint32_t choice, std::span<const Rank> ranks) const;
  // The ranks that hold a part of the table in the old plan, in ascending order.
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

// Returns the allocation after exchanging whole hosts, and ranks within hosts, so that the cost of
// moves is least. The Hungarian method finds the cheapest ranks for every pair of hosts, then the
// cheapest hosts. Choices on all ranks and blocks of whole hosts keep their shards in rank order.
// If all ranks are equal and no rule names a rank, the rating stays the same; otherwise the caller
// must rate the answer anew. Cost: label_work().
Allocation relabel_ranks(const ChoiceModel& model, const MoveCosts& costs,
                         const Allocation& allocation);

// The work of relabel_ranks(), in updates of a rank's load: O(shards x ranks + hosts^2 x
// local_world_size^3 + hosts^3).
std::uint64_t label_work(const ChoiceModel& model, const Allocation& allocation);

}  // namespace shardwright::embedding
