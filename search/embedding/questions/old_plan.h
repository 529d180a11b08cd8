// An old plan seen under a new problem: which of its places still exist, and what a change moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/embedding/document/plan_document.h"
#include "core/embedding/plan.h"
#include "core/embedding/rank_flows.h"
#include "core/embedding/search_space.h"
#include "core/status.h"

namespace shardwright::embedding {

// An old plan under a new problem. Tables are matched by module and name, or by name if an entry of
// the plan has no module. Rank i stays rank i. Tables have the rows and columns of the new problem.
// Thread safety: const members may be called from any thread.
class OldPlan {
 public:
  // Errors: kInvalidInput with the JSON pointer in the plan file, if the old plan has a table twice
  // or an invalid rank.
  static Result<OldPlan> make(std::shared_ptr<const SearchSpace> space,
                              const std::vector<PlanEntry>& entries);

  // The table's sharding and ranks in the old plan; null for a new table.
  const TablePlace* place(TableId table) const;
  // The table's shards in the old plan; null for a new table or if the shards are not known.
  const ShardLayout* layout(TableId table) const;
  // The old assignment under the new problem. Its option is null if the option no longer exists or
  // has another number of shards, or if a rank no longer exists or is not allowed by the sharding
  // type or by the table's own placement rules.
  const Assignment& assignment(TableId table) const;
  // Returns true if the option of assignment() is in the search space, false if it was added.
  bool in_space(TableId table) const;

  // Bytes of the table's tensor that the ranks of `to` do not hold in the old plan (see TableMove).
  std::int64_t bytes_to_move(const Assignment& to) const;
  // Returns true if `to` has the option and ranks of the old plan.
  bool is_kept(const Assignment& to) const;

  // What the ranks hold, as input of check_move_bound(). `weight`: in units of the rating per GiB.
  HeldPlan held(double weight) const;

  // Full names of tables of the old plan that the new problem lacks.
  const std::vector<std::string>& dropped() const { return dropped_; }
  // Owns the options of all assignments.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // The number of options in assignments that the search space lacks.
  std::size_t num_added_options() const { return num_added_options_; }

 private:
  struct OldTable {
    TablePlace place;
    Assignment assignment;
    std::optional<ShardLayout> layout;  // the shards; absent if not known
    bool in_space = false;
  };

  explicit OldPlan(std::shared_ptr<const SearchSpace> space);
  void match(TableId table, const PlanEntry& entry, const ShardingOption* option);

  std::shared_ptr<const SearchSpace> space_;
  std::vector<std::optional<OldTable>> tables_;  // by table
  std::vector<std::string> dropped_;
  std::shared_ptr<const void> owner_;
  std::size_t num_added_options_ = 0;
};

// The sharding and ranks of an assignment.
TablePlace place_of(const Assignment& assignment);
// The plan as a file has it, with names, options and ranks alone.
std::vector<PlanEntry> entries_of(const Problem& problem, const Plan& plan);

}  // namespace shardwright::embedding
