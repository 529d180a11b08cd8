// The Lagrangian function of the capacities of all ranks.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/embedding/bound/bound_certificate.h"
#include "core/embedding/bound/check_bound.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"

namespace shardwright::embedding {

// What the cheapest choices of all tables use of the ranks of a class.
struct ClassUse {
  double load = 0;
  PerTier<double> bytes = {};
};

// The Lagrangian function at given multipliers, and its subgradient there. Only choices that are
// possible below the target count. Of equal tables the first one is looked at.
// Thread safety: one thread at a time. Refers to its arguments.
class LagrangianFunction {
 public:
  LagrangianFunction(const BoundRows& rows, double target, const Domain& domain);

  bool every_table_is_possible() const;

  // Each table takes its cheapest choice; use() then says what they use. O(possible choices of the
  // groups).
  double value(const std::vector<CapacityMultipliers>& multipliers, Budget& budget);
  const std::vector<ClassUse>& use() const { return use_; }
  const std::vector<EqualTables>& groups() const { return groups_; }
  // The cheapest choice of every group's first table.
  const std::vector<std::uint32_t>& cheapest() const { return cheapest_; }
  // The possible choices of a group's first table.
  std::span<const std::uint32_t> possible(std::size_t group) const {
    return std::span(possible_).subspan(begin_[group], begin_[group + 1] - begin_[group]);
  }
  // What all shards of a choice cost, each in its cheapest class.
  double cost_of(std::uint32_t choice, const std::vector<CapacityMultipliers>& multipliers) const;

 private:
  std::uint32_t cheapest_class(const BoundRow& row,
                               const std::vector<CapacityMultipliers>& multipliers) const;
  void take(std::uint32_t choice, std::uint32_t tables,
            const std::vector<CapacityMultipliers>& multipliers);

  const BoundRows& rows_;
  const RankClasses& classes_;
  const Domain& domain_;
  double target_;
  std::vector<EqualTables> groups_;
  std::vector<std::uint32_t> possible_;  // group after group
  std::vector<std::size_t> begin_{0};    // of each group, and the end
  std::vector<ClassUse> use_;
  std::vector<std::uint32_t> cheapest_;  // by group
};

// A bound is lowered by this part before it is claimed: the check raises it by kRatingSlack, and
// rounds every sum to the safe side, which costs less than the rest.
inline constexpr double kBoundRounding = 3 * kRatingSlack;

struct AggregateBound {
  double bound = 0;  // no plan rates below it; infinite if a table has no possible choice
  std::vector<CapacityMultipliers> multipliers;  // by class; they prove the bound
  // What the linear program takes of every choice, if all ranks are one. It mixes choices of a few
  // tables at most. Empty if the program was lost numerically.
  std::vector<double> shares;
};

// The largest Lagrangian bound over all multipliers. Only choices that are possible below `target`
// count: if the bound exceeds `target`, no plan rates below `target`; otherwise it holds only with
// min(bound, target).
// Source: J. E. Kelley, "The Cutting-Plane Method for Solving Convex Programs" (1960).
// O(rounds x choices) time.
AggregateBound aggregate_bound(const BoundRows& rows, double target, const Domain& domain,
                               const AggregateParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
