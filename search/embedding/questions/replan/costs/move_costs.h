// What it costs to have a shard of a choice on a rank: the bytes that the rank does not hold yet.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/plan.h"
#include "search/embedding/model/choice_model.h"
#include "search/embedding/questions/replan/old/old_plan.h"

namespace shardwright::embedding {

// Costs are in units of the rating. They add up over shards, so the moves of a plan cost the sum
// over its shards, up to rounding to whole bytes. A table that the old plan lacks moves for free.
// Refers to the model and the old plan.
// Thread safety: immutable; const members may be called from any thread.
class MoveCosts {
 public:
  // `weight` is in units of the rating per GiB. Memory: O(shards x ranks) of a small model, O(old
  // shards) of a large one.
  MoveCosts(const ChoiceModel& model, const OldPlan& old, double weight);

  // O(1) for a small model; O(old shards of the table on the rank) for a large one.
  double cost(std::uint32_t choice, std::uint32_t shard, Rank rank) const {
    if (!table_costs_.empty()) return table_costs_[first_[choice] + shard * world_ + rank];
    return compute(choice, shard, rank);
  }
  // Of shard i on ranks[i]; of shard i on rank i if there are no ranks.
  double cost(std::uint32_t choice, std::span<const Rank> ranks) const;
  // Ranks that hold a part of the table, ascending.
  std::span<const Rank> holders(std::size_t table) const {
    return {holders_.data() + first_holder_[table],
            first_holder_[table + 1] - first_holder_[table]};
  }
  // Returns true if both shards cost the same on every rank.
  bool are_alike(std::uint32_t choice, std::uint32_t a, std::uint32_t b) const;

 private:
  // A part of the tensor that a rank holds.
  struct Part {
    Rank rank = 0;
    std::int64_t row = 0, column = 0, rows = 0, columns = 0;
  };

  void add_parts(TableId table, const OldPlan& old);
  double compute(std::uint32_t choice, std::uint32_t shard, Rank rank) const;
  void fill_table_costs();

  const ChoiceModel* model_;
  std::size_t world_;
  std::vector<Part> parts_;                // table by table, in the order of ranks
  std::vector<std::size_t> first_part_;    // by table, and the end
  std::vector<Rank> holders_;              // table by table
  std::vector<std::size_t> first_holder_;  // by table, and the end
  std::vector<double> element_cost_;       // by table
  std::vector<std::uint32_t> table_of_;    // by choice
  std::vector<std::size_t> first_;         // by choice, into table_costs_
  std::vector<double> table_costs_;        // empty for a large model
};

}  // namespace shardwright::embedding
