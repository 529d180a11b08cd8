// The Lagrangian relaxation of the capacities of all ranks.
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

// Load and memory that all tables, each with its cheapest choice, use on all ranks of a class.
struct ClassUse {
  double load = 0;
  PerTier<double> bytes = {};
};

// The Lagrangian dual function at given multipliers, and its subgradient. Only choices in the
// domain count. The first table of a group stands for all tables of the group.
// Thread safety: one thread at a time. Refers to its arguments.
class LagrangianFunction {
 public:
  LagrangianFunction(const BoundRows& rows, double target, const Domain& domain);

  bool every_table_is_possible() const;

  // Returns a lower bound of the rating of every plan below the target. Sets use() and cheapest()
  // for the cheapest choice of every table. Precondition: over all ranks, the sum of load
  // multiplier / time scale is at most 1. O(possible choices of the groups).
  double value(const std::vector<CapacityMultipliers>& multipliers, Budget& budget);
  const std::vector<ClassUse>& use() const { return use_; }
  const std::vector<EqualTables>& groups() const { return groups_; }
  // For every group, the cheapest choice of its first table.
  const std::vector<std::uint32_t>& cheapest() const { return cheapest_; }
  // The choices of a group's first table that the domain allows.
  std::span<const std::uint32_t> possible(std::size_t group) const {
    return std::span(possible_).subspan(begin_[group], begin_[group + 1] - begin_[group]);
  }
  // Returns the price of all shards of a choice, each in its cheapest class.
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
  std::vector<std::uint32_t> possible_;  // the possible choices, group after group
  std::vector<std::size_t> begin_{0};    // where each group begins in possible_, and the end
  std::vector<ClassUse> use_;
  std::vector<std::uint32_t> cheapest_;  // by group
};

// The fraction by which a bound is lowered before it is claimed. One third is kRatingSlack, by
// which check_bound() raises the bound. Two thirds cover the rounding of check_bound() to the safe
// side.
inline constexpr double kBoundRounding = 3 * kRatingSlack;

struct AggregateBound {
  double bound = 0;  // see aggregate_bound(); infinite if a table has no possible choice
  std::vector<CapacityMultipliers> multipliers;  // by class; they prove the bound
  // The share of every choice in the optimal convex combination of cutting planes. Few tables have
  // several choices with shares. Empty if the linear program was not solved.
  std::vector<double> shares;
};

// Computes the largest Lagrangian bound over all multipliers. The domain has only choices that are
// possible below `target`, so the proved bound is min(bound, target).
// Source: J. E. Kelley, "The Cutting-Plane Method for Solving Convex Programs" (1960).
// O(rounds x choices) time.
AggregateBound aggregate_bound(const BoundRows& rows, double target, const Domain& domain,
                               const AggregateParameters& parameters, Budget& budget);

}  // namespace shardwright::embedding
