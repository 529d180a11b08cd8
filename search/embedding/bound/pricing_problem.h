// The pricing problem of column generation: the most valuable pattern that one rank can hold.
#pragma once

#include <cstdint>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/label_search.h"

namespace shardwright::embedding {

// Minimises the Lagrangian relaxation of the knapsack approximately, and returns the multipliers.
// The relaxation is the cost of the capacity plus the best reduced value of an item for every copy.
// It bounds every pattern's value, and is convex in the multipliers. Bisection on the sign of the
// slack finds the multipliers of load, DDR and SSD. A golden-section search finds the multiplier of
// HBM, with a bisection of load inside. Time: O(items x evaluations), which is added to `steps`.
CapacityMultipliers best_multipliers(const Knapsack& knapsack, const KnapsackParameters& parameters,
                                     std::uint64_t& steps);

struct PricingAnswer {
  RankPattern pattern;
  double value = 0;      // of the pattern
  double max_value = 0;  // upper bound; `value` plus rounding if the pattern is proved best
  CapacityMultipliers multipliers;  // of best_multipliers()
};

// Solves the pricing problem of one rank class for changing dual values.
// Thread safety: one thread at a time. Refers to its arguments.
class PricingProblem {
 public:
  PricingProblem(const BoundRows& rows, std::uint32_t rank_class,
                 const KnapsackParameters& parameters)
      : rows_(&rows), rank_class_(rank_class), parameters_(parameters), search_(parameters) {}

  // Looks only for patterns of more value than `query.at_least`. If none exists, `max_value` may be
  // as high as `at_least`, and the answer may have any pattern that fits. An exact search that
  // needs too many labels is repeated with rounded resources: `max_value` stays valid, and the
  // pattern may exceed the rank slightly.
  PricingAnswer solve(const PricingQuery& query, Budget& budget);
  // Looks for no pattern: `max_value` is the value of the Lagrangian relaxation.
  PricingAnswer relax(const PricingQuery& query, Budget& budget);

  // Returns true if the last full search took few steps: the next one is then run at once.
  bool was_easy() const { return was_easy_; }
  void set_was_easy(bool easy) { was_easy_ = easy; }

 private:
  enum class Found : std::uint8_t { kGood, kBest, kTooMany };
  Found find(const CapacityMultipliers& multipliers, const PricingQuery& query);
  RankPattern best_pattern() const;

  const BoundRows* rows_;
  std::uint32_t rank_class_;
  const KnapsackParameters& parameters_;
  Knapsack knapsack_;
  LabelSearch search_;
  bool was_easy_ = true;  // the last full search
};

}  // namespace shardwright::embedding
