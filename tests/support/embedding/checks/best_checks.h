// Compares best mode on small problems with an enumeration of all plans.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "runtime/embedding/planner.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::test_support {

// Numbers of small problems by outcome. `missed` counts those that have a plan although none was
// found; `infeasible` counts those that have none.
struct BestCounts {
  std::size_t feasible = 0;
  std::size_t missed = 0;
  std::size_t proved = 0;
  std::size_t infeasible = 0;
};

inline constexpr double kSameRating = 1e-9;

// Checks that the plan is valid and optimal (its rating is `least`), and that the check accepts the
// proof of the bound.
inline void check_best_plan(const SmallProblem& small, double least,
                            const EmbeddingPlanResult& result, BestCounts& counts) {
  using namespace embedding;
  const Evaluation evaluation = evaluate(small.space->problem(), small.available, *result.plan);
  CHECK(evaluation.valid());
  CHECK(evaluation.rating == *result.best_rating);
  CHECK(evaluation.rating >= least * (1 - kSameRating));
  const bool proved =
      result.lower_bound && gap(*result.best_rating, *result.lower_bound) <= kProvenGap;
  CHECK(evaluation.rating <= least * (1 + kSameRating));
  // A plan with rating 0 is optimal even without a proof.
  if (proved || evaluation.rating == 0) ++counts.proved;
  REQUIRE(result.lower_bound.has_value() == result.certificate.has_value());
  if (!result.certificate) return;
  CHECK(*result.lower_bound <= std::min(least, *result.best_rating));
  CHECK(check_bound(*small.space, small.available, *result.certificate).value_or("") == "");
}

inline void check_small_plan(const SmallProblem& small, BestCounts& counts) {
  constexpr std::uint64_t kWork = 3'000'000;
  PlanOptions options;
  options.threads = 1;
  options.work_limit = kWork;
  const auto result = plan_embedding(
      std::shared_ptr<const embedding::Problem>(small.space, &small.space->problem()), options,
      small.space);
  REQUIRE_MESSAGE(result.ok(), result.error().to_string());
  const std::optional<double> least = least_rating(small);
  if (least) ++counts.feasible;
  if (least && result->plan) {
    check_best_plan(small, *least, *result, counts);
    return;
  }
  ++(least ? counts.missed : counts.infeasible);
  CHECK_FALSE(result->plan.has_value());
  CHECK_FALSE(result->best_rating.has_value());
  CHECK_FALSE(result->lower_bound.has_value());
  REQUIRE(result->failure.has_value());
  CHECK_FALSE(result->failure->message.empty());
  // The planner must prove that no plan exists.
  CHECK(result->failure->reason != FailureReason::kNothingFound);
}

inline BestCounts check_small_plans(std::uint64_t seed, int problems, bool rules) {
  BestCounts counts;
  Random random(seed);
  for (int i = 0; i < problems; ++i) {
    CAPTURE(seed);
    CAPTURE(i);
    check_small_plan(small_planning_problem(random, rules), counts);
  }
  return counts;
}

inline BestCounts check_uneven_plans(std::uint64_t seed, int problems, bool rules) {
  BestCounts counts;
  Random random(seed);
  for (int i = 0; i < problems; ++i) {
    CAPTURE(seed);
    CAPTURE(i);
    check_small_plan(uneven_planning_problem(random, rules), counts);
  }
  return counts;
}

inline BestCounts check_wide_plans(std::uint64_t seed, int problems) {
  BestCounts counts;
  Random random(seed);
  for (int i = 0; i < problems; ++i) {
    CAPTURE(seed);
    CAPTURE(i);
    check_small_plan(wide_planning_problem(random), counts);
  }
  return counts;
}

}  // namespace shardwright::test_support
