// A plan under change: assignments, loads of the ranks and bytes moved, kept up to date together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/embedding/plan.h"
#include "search/embedding/model/rank_state/plan_loads.h"
#include "search/embedding/questions/replan/blend/plan_costs.h"

namespace shardwright {

// Returns true if both put the same option on the same ranks.
bool is_same(const embedding::Assignment& a, const embedding::Assignment& b);

// `base` with the assignments of `other` that differ, which it shares with `other`; all others are
// shared with `base`. Preconditions: both have the same tables in the same order, and the owner of
// `base` keeps the options of `other` alive.
embedding::Plan as_edit_of(const embedding::Plan& base, const embedding::Plan& other);

// Another assignment for the table at a position, and the bytes that it moves.
struct TableChange {
  std::size_t position = 0;
  embedding::Assignment to;
  std::int64_t moved_bytes = 0;
};

// Changes of different tables that are made together.
using PlanStep = std::vector<TableChange>;

// Thread safety: one thread at a time.
class PlanState {
 public:
  // Keeps what `costs` refers to.
  PlanState(embedding::Plan start, const PlanCosts& costs);

  std::size_t size() const { return at_.size(); }
  const embedding::Assignment& operator[](std::size_t i) const { return at_[i]; }
  const embedding::PlanLoads& loads() const { return loads_; }
  std::int64_t moved_bytes() const { return moved_; }

  TableChange change_to(std::size_t position, embedding::Assignment to) const;
  // O(shards).
  void apply(const PlanStep& step);
  // The step that takes `step` back.
  PlanStep inverse(const PlanStep& step) const;

  // O(ranks).
  PlanCost cost() const;
  // The cost after `step`. The state stays as it is, but for rounding.
  PlanCost cost_after(const PlanStep& step);

  // The state as an edit of the plan that it started from.
  embedding::Plan plan() const;

 private:
  PlanCosts costs_;
  embedding::Plan start_;
  std::vector<embedding::Assignment> at_;
  embedding::PlanLoads loads_;
  std::vector<std::int64_t> moved_by_table_;  // by position
  std::int64_t moved_ = 0;
};

}  // namespace shardwright
