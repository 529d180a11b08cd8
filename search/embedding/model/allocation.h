// Allocations of best mode, and their conversion to and from plans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/embedding/plan.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

// A choice for every table and a rank for every shard. An engine changes its allocation in place;
// engines exchange plans.
// Thread safety: a value.
struct Allocation {
  Allocation() = default;
  explicit Allocation(std::size_t tables) : choice(tables), ranks(tables) {}
  // Returns an allocation of these choices without ranks.
  static Allocation of_choices(std::vector<std::uint32_t> choices) {
    Allocation made(choices.size());
    made.choice = std::move(choices);
    return made;
  }

  std::vector<std::uint32_t> choice;     // by table, index into ChoiceModel::choices()
  std::vector<std::vector<Rank>> ranks;  // by table, one per shard; empty for Reach::kAllRanks
};

// Returns a plan with the tables in the model's order. The plan owns the pool's options.
Plan to_plan(const ChoiceModel& model, const Allocation& allocation, PlanCopies& copies);

// Returns the allocation as an edit of `base`: only tables whose option or ranks differ are copied.
// Preconditions: `base` has the model's tables in the model's order and options of the model's
// pool; the shards of a choice with Reach::kAllRanks are in rank order.
// Reads all ranks of both; allocates for the tables that differ.
Plan to_plan(const ChoiceModel& model, const Allocation& allocation, const Plan& base,
             PlanCopies& copies);

// Gives a table of `into` the option and ranks of the assignment. Returns true if the table
// changed. Precondition: the option is one of the model's choices.
bool take_table(const ChoiceModel& model, std::size_t table, const Assignment& assignment,
                Allocation& into);

// Returns the plan as an allocation. An option that is no choice of the model is replaced by the
// choice that dominates it, so no rank has more load or memory than in the plan. Returns nothing if
// the model lacks a table or an option of the plan.
std::optional<Allocation> to_allocation(const ChoiceModel& model, const Plan& plan);

// A start that may lead to a plan that rates below `target`: a choice for every table, and ranks
// for those tables that have a place.
// Thread safety: a value.
struct SuggestedStart {
  Allocation start;
  double target = 0;

  bool has_places() const {
    return std::any_of(start.ranks.begin(), start.ranks.end(),
                       [](const std::vector<Rank>& ranks) { return !ranks.empty(); });
  }
  // The number of tables without ranks; all tables if no table has ranks.
  std::size_t num_unplaced(const ChoiceModel& model) const {
    if (!has_places()) return start.choice.size();
    std::size_t unplaced = 0;
    for (std::size_t table = 0; table < start.choice.size(); ++table) {
      const bool has_place = !start.ranks[table].empty() ||
                             model.choices()[start.choice[table]].reach == Reach::kAllRanks;
      if (!has_place) ++unplaced;
    }
    return unplaced;
  }
};

}  // namespace shardwright::embedding
