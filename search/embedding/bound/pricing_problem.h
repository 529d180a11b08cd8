// The pricing problem of column generation: the pattern of most value that one rank can hold.
#pragma once

#include <cstdint>

#include "core/embedding/bound/bound_certificate.h"
#include "search/budget.h"
#include "search/embedding/bound/bound_parameters.h"
#include "search/embedding/bound/bound_rows.h"
#include "search/embedding/bound/label_search.h"

namespace shardwright::embedding {

// Returns multipliers close to the minimum of the relaxation: capacity at the multipliers, plus the
// best item of every copy by reduced value. The minimum bounds the value of every pattern. The
// relaxation is convex. The multiplier of load is found by bisection on the sign of the slack, and
// so are those of DDR and SSD; the multiplier of HBM by a golden-section search around that. Time:
// O(items x evaluations), which is added to `steps`.
CapacityMultipliers best_multipliers(const Knapsack& knapsack, const KnapsackParameters& parameters,
                                     std::uint64_t& steps);

struct PricingAnswer {
  RankPattern pattern;
  double value = 0;      // of the pattern
  double max_value = 0;  // no pattern is worth more; `value` plus rounding, if that was proved
  CapacityMultipliers multipliers;  // at which the relaxation about reaches its minimum
};

// Solves the pricing problem of one rank class, each time for other dual values.
// Thread safety: one thread at a time. Refers to its arguments.
class PricingProblem {
 public:
  PricingProblem(const BoundRows& rows, std::uint32_t rank_class,
                 const KnapsackParameters& parameters)
      : rows_(&rows), rank_class_(rank_class), parameters_(parameters), search_(parameters) {}

  // Looks only for patterns worth more than `query.at_least`. If there is none, `max_value` may be
  // as high as `at_least`, and the pattern may be any that fits. If an exact search needs too many
  // labels, it is repeated with rounded resources: `max_value` stays valid, and the pattern may
  // exceed the rank by a little.
  PricingAnswer solve(const PricingQuery& query, Budget& budget);
  // Looks for no pattern: `max_value` is that of the relaxation of the capacities.
  PricingAnswer relax(const PricingQuery& query, Budget& budget);

  // Whether the last full search was easy: the next one is then tried at once.
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
