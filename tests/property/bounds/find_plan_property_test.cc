// Core's search over all plans, compared with a naive one under every kind of placement rule. The
// check of a certificate uses this search, so no other test would notice a plan that it misses.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "core/embedding/bound/check_bound.h"
#include "core/embedding/bound/plan_search.h"
#include "core/embedding/evaluate.h"
#include "tests/support/embedding/small_bounds.h"

namespace shardwright::find_plan_property_test {

namespace {

using namespace shardwright::embedding;
using namespace shardwright::test_support;
using Answer = FoundPlan::Answer;

constexpr std::uint64_t kSteps = std::uint64_t{1} << 22;

// Returns up to two sets of random prices.
std::vector<RankPriceSet> random_prices(const SmallProblem& small, Random& random) {
  std::vector<RankPriceSet> sets(random.below(3));
  for (RankPriceSet& prices : sets) {
    prices.resize(small.available.world_size());
    for (CapacityMultipliers& own : prices) {
      own.load = static_cast<double>(random.below(4));
      own.hbm = 1e-9 * static_cast<double>(random.below(4));
    }
  }
  return sets;
}

FoundPlan find_below(const SmallProblem& small, Random& random, double target) {
  return find_plan_below({target}, *small.space, small.available, random_prices(small, random),
                         kSteps);
}

// Checks that a found plan obeys the rules, fits and is below the target. Options of these problems
// have no shapes, so violations of kNotCovering are ignored.
void check_found(const SmallProblem& small, const FoundPlan& found, double target) {
  REQUIRE((found.answer == Answer::kFound));
  const Evaluation own = evaluate(small.space->problem(), small.available, *found.plan);
  CHECK(std::all_of(own.violations.begin(), own.violations.end(), [](const Violation& violation) {
    return violation.kind == Violation::Kind::kNotCovering;
  }));
  CHECK(own.rating < target);
}

}  // namespace

TEST_CASE("find plan: finds a plan above the least rating and none below, with and without rules") {
  for (const std::uint64_t seed : seeds({6001, 6002})) {
    Random random(seed);
    int with_rules = 0;
    int impossible = 0;
    for (int i = 0; i < 10'000; ++i) {
      CAPTURE(seed);
      CAPTURE(i);
      const SmallProblem small = mixed_problem(random, i);
      with_rules += small.space->problem().rules().any() ? 1 : 0;
      const std::optional<double> least = least_rating(small);
      if (!least) {
        ++impossible;
        const double target = unreachable_rating(*small.space).value();
        CHECK((find_below(small, random, target).answer == Answer::kNoneExists));
        continue;
      }
      if (*least <= 0) continue;
      const double above = *least * (1 + 1e-6);
      check_found(small, find_below(small, random, above), above);
      const double below = *least * (1 - 1e-6);
      CHECK((find_below(small, random, below).answer == Answer::kNoneExists));
    }
    MESSAGE(with_rules, " with rules, ", impossible, " without a plan");
    CHECK(with_rules > 2000);
    CHECK(impossible > 200);
  }
}

}  // namespace shardwright::find_plan_property_test
