// Compares an old plan with a new problem: which places still exist, and what leaving them moves.
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

// An old plan under a new problem. Tables are matched by module and name, or by name if an entry
// has no module. Rank i stays rank i. Rows and columns of a table are those of the new problem.
// Thread safety: const members may be called from any thread.
class OldPlan {
 public:
  // Errors: kInvalidInput with the JSON pointer in the plan file, for a table that is in the old
  // plan twice and for an invalid rank.
  static Result<OldPlan> make(std::shared_ptr<const SearchSpace> space,
                              const std::vector<PlanEntry>& entries);

  // Where the table was; null for a new table.
  const TablePlace* place(TableId table) const;
  // How the table was cut; null if that is not known.
  const ShardLayout* layout(TableId table) const;
  // The old assignment under the new problem. Its option is null if it no longer exists: the option
  // is gone or cut into another number of shards, or a rank is gone or not allowed by the sharding
  // type or by the table's own placement rules.
  const Assignment& assignment(TableId table) const;
  // Returns true if the option belongs to the search space, false if a proposer made it.
  bool in_space(TableId table) const;

  // Bytes of the table's tensor that the ranks of `to` do not hold yet (see TableMove).
  std::int64_t bytes_to_move(const Assignment& to) const;
  // Returns true if `to` gives the table the option and ranks that it had.
  bool is_kept(const Assignment& to) const;

  // What the ranks hold, for core's check of a bound. `weight` is in units of the rating per GiB.
  HeldPlan held(double weight) const;

  // Full names of tables that the new problem lacks.
  const std::vector<std::string>& dropped() const { return dropped_; }
  // Keeps the options of all assignments alive.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  // The number of options in assignments that the search space lacks.
  std::size_t num_added_options() const { return num_added_options_; }

 private:
  struct OldTable {
    TablePlace place;
    Assignment assignment;
    std::optional<ShardLayout> layout;  // how it was cut; absent if not known
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

}  // namespace shardwright::embedding
