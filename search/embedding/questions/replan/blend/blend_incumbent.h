// The incumbent: the cheapest plan considered so far.
#pragma once

#include <cstdint>
#include <optional>

#include "core/embedding/evaluation/evaluate.h"
#include "core/embedding/plan.h"
#include "core/embedding/plan_edit.h"
#include "search/embedding/questions/replan/blend/plan_costs.h"
#include "search/embedding/questions/replan/blend/plan_state.h"

namespace shardwright::embedding {

// Among plans of equal cost (to a relative 1e-9) it is the one that moves least. Keeps references.
// Thread safety: one thread at a time.
class BlendIncumbent {
 public:
  struct Best {
    Plan plan;
    Evaluation evaluation;  // by the verifier
    double cost = 0;
    std::int64_t moved_bytes = 0;
  };

  explicit BlendIncumbent(const PlanCosts& costs) : costs_(costs) {}

  const PlanCosts& costs() const { return costs_; }
  const std::optional<Best>& best() const { return best_; }
  // What making plans of states copied.
  const PlanCopies& copies() const { return copies_; }

  // Takes the plan if it breaks no rule and is better than the best.
  void consider(const Plan& plan) { take(plan, true); }
  // Does the same, but makes the plan only if its loads say that it is better.
  void consider(const PlanState& state);
  // Takes the plan if it breaks no rule, even if the best is better.
  void settle(const Plan& plan) { take(plan, false); }

 private:
  bool is_better(double cost, std::int64_t moved_bytes) const;
  void take(const Plan& plan, bool only_if_better);

  PlanCosts costs_;
  std::optional<Best> best_;
  PlanCopies copies_;
};

}  // namespace shardwright::embedding
