// A start for the search from a fractional mix of patterns.
#pragma once

#include <memory>
#include <vector>

#include "search/budget.h"
#include "search/embedding/best/bound/model/bound_rows.h"
#include "search/embedding/best/bound/model/table_groups.h"
#include "search/embedding/best/parameters/bound_parameters.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// Every table has the choice that the plan takes most of, and its ranks if they could be found for
// all its shards: a rank gets one of the plan's patterns (PatternDive, several times with other
// seeds). Tables without ranks are to be placed beside the others. None has ranks if the patterns
// say nothing about single ones, because a class has only some ranks of a host that a choice fills,
// or if the budget was interrupted.
// Thread safety: one thread at a time. Refers to its arguments, but for the plan and the budget.
class PatternRounding {
 public:
  // Precondition: the plan is not empty.
  PatternRounding(const BoundRows& rows, const Domain& domain,
                  const std::vector<EqualTables>& groups, const FractionalPlan& plan, double target,
                  const BoundParameters& parameters, const Budget& budget);
  PatternRounding(const PatternRounding&) = delete;
  PatternRounding& operator=(const PatternRounding&) = delete;
  ~PatternRounding();

  // One dive. Returns true if there is nothing left to do.
  bool step(Budget& budget);
  // Once, after step() has returned true.
  Allocation take_start(Budget& budget);

 private:
  class Rounding;
  std::unique_ptr<Rounding> rounding_;
};

// The same at once.
Allocation round_patterns(const BoundRows& rows, const Domain& domain,
                          const std::vector<EqualTables>& groups, const FractionalPlan& plan,
                          double target, const BoundParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
