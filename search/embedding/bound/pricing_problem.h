// The pricing problem of column generation: the most valuable pattern that one rank can hold.
#pragma once

#include <cstdint>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/label_search.h"

namespace shardwright::embedding {

// Returns multipliers that approximately minimise the Lagrangian relaxation of the knapsack. The
// relaxation is the cost of the capacity plus, for every copy of every item class, the best reduced
// value of an item. The relaxation bounds the value of every pattern, and is convex in the
// multipliers. Bisection finds the multipliers of load, DDR and SSD. A golden-section search finds
// the multiplier of HBM, with a bisection of load inside. Takes O(items x evaluations), which is
// added to `steps`.
CapacityMultipliers best_multipliers(const Knapsack& knapsack, const KnapsackParameters& parameters,
                                     std::uint64_t& steps);

struct PricingAnswer {
  RankPattern pattern;
  double value = 0;      // of the pattern
  double max_value = 0;  // of any pattern; about `value` if proved best
  CapacityMultipliers multipliers;  // of best_multipliers()
};

// Solves the pricing problem of one rank class for changing dual values.
// Thread safety: one thread at a time. Refers to its arguments.
class PricingProblem {
 public:
  PricingProblem(const BoundRows& rows, std::uint32_t rank_class,
                 const KnapsackParameters& parameters)
      : rows_(&rows), rank_class_(rank_class), parameters_(parameters), search_(parameters) {}

  // Looks only for patterns worth more than `query.at_least`. If there is none, `max_value` may be
  // as high as `at_least`, and the answer may have any pattern that fits. If an exact search needs
  // too many labels, it is repeated with rounded resources. Then `max_value` is still valid, but
  // the pattern may slightly exceed the capacity of the rank.
  PricingAnswer solve(const PricingQuery& query, Budget& budget);
  // Sets only `max_value`, to the value of the Lagrangian relaxation, and `multipliers`.
  PricingAnswer relax(const PricingQuery& query, Budget& budget);

  // Returns true if the last full search took few steps. The next full search then runs at once.
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
  bool was_easy_ = true;  // see was_easy()
};

}  // namespace shardwright::embedding
