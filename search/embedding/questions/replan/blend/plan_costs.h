// The cost of a new plan: its rating, and the bytes moved from the old plan to it.
#pragma once

#include <cstdint>

#include "core/embedding/plan.h"
#include "core/embedding/problem/problem.h"
#include "search/embedding/questions/replan/old/old_plan.h"

namespace shardwright::embedding {

// The cost of a plan, compared member by member.
struct PlanCost {
  std::int64_t excess_bytes = 0;  // beyond what ranks have; 0 = the plan fits
  double cost = 0;                // rating + weight x GiB moved
  std::int64_t moved_bytes = 0;   // of tables that the old plan has
};

// Costs that differ by at most 1e-9, relatively, are equal.
bool precedes(const PlanCost& a, const PlanCost& b);

// Keeps references.
// Thread safety: const members may be called from any thread.
class PlanCosts {
 public:
  // `available` is what reservation and margin leave; `weight` is in units of the rating per GiB.
  PlanCosts(const Problem& problem, const Topology& available, const OldPlan& old, double weight)
      : problem_(&problem), available_(&available), old_(&old), weight_(weight) {}

  PlanCosts with_weight(double weight) const {
    return PlanCosts(*problem_, *available_, *old_, weight);
  }

  const Problem& problem() const { return *problem_; }
  const Topology& available() const { return *available_; }
  double weight() const { return weight_; }

  double cost(double rating, std::int64_t moved_bytes) const;
  // Bytes that `to` moves; 0 for a new table. O(shards x shards on one rank).
  std::int64_t moved_bytes(const Assignment& to) const;
  std::int64_t moved_bytes(const Plan& plan) const;

 private:
  const Problem* problem_;
  const Topology* available_;
  const OldPlan* old_;
  double weight_;
};

}  // namespace shardwright::embedding
