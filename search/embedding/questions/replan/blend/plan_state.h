// A plan that changes step by step: its assignments, the loads of the ranks and the bytes moved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/plan.h"
#include "core/embedding/plan_edit.h"
#include "search/embedding/model/rank_state/plan_loads.h"
#include "search/embedding/questions/replan/blend/plan_costs.h"

namespace shardwright::embedding {

// Returns true if both have the same option on the same ranks.
bool is_same(const Assignment& a, const Assignment& b);

// `base` with the assignments of `other` that differ, which it shares with `other`; all others are
// shared with `base`. Adds to `copies` what that copied. Preconditions: both have the same tables
// in the same order, and the owner of `base` keeps the options of `other` alive.
Plan as_edit_of(const Plan& base, const Plan& other, PlanCopies& copies);

// Another assignment for the table at a position.
struct TableChange {
  std::size_t position = 0;
  Assignment to;
  std::int64_t moved_bytes = 0;    // by moving the table
  std::uint64_t copied_bytes = 0;  // of ranks that no other plan stores
};

// Changes of different tables that are made at once.
using PlanStep = std::vector<TableChange>;

// Thread safety: one thread at a time.
class PlanState {
 public:
  // Keeps what `costs` refers to.
  PlanState(Plan start, const PlanCosts& costs);

  std::size_t size() const { return at_.size(); }
  const Assignment& operator[](std::size_t i) const { return at_[i]; }
  const PlanLoads& loads() const { return loads_; }
  std::int64_t moved_bytes() const { return moved_; }

  // The change to an assignment of another plan, whose ranks are shared.
  TableChange change_to(std::size_t position, Assignment to) const;
  // The change of one shard's rank, which copies the ranks of the table. O(shards).
  TableChange move_shard(std::size_t position, std::uint32_t shard, Rank rank) const;
  // O(shards).
  void apply(const PlanStep& step);
  // The step that undoes `step`.
  PlanStep inverse(const PlanStep& step) const;

  // O(ranks).
  PlanCost cost() const;
  // The cost after `step`. Leaves the state as it was, up to rounding.
  PlanCost cost_after(const PlanStep& step);

  // The state as an edit of the plan that it started from. Adds to `copies` what that copied.
  Plan plan(PlanCopies& copies) const;

 private:
  PlanCosts costs_;
  Plan start_;
  std::vector<Assignment> at_;
  PlanLoads loads_;
  std::vector<std::int64_t> moved_by_table_;    // by position
  std::vector<std::uint64_t> copied_by_table_;  // by position
  std::int64_t moved_ = 0;
};

}  // namespace shardwright::embedding
