// What it costs to have a shard of a choice on a rank: the bytes that the rank does not hold yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/moves/held_plan.h"
#include "search/embedding/model/choice_model.h"

namespace shardwright::embedding {

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

}  // namespace shardwright::embedding
