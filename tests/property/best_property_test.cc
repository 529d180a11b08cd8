// Best mode, compared with all plans of small problems.
#include "tests/support/embedding/checks/best_checks.h"

namespace shardwright::best_property_test {

using namespace shardwright::test_support;

TEST_CASE("best: finds a plan if there is one, and no plan is better") {
  for (const std::uint64_t seed : seeds({201, 202})) {
    const BestCounts counts = check_small_plans(seed, 100, false);
    CHECK(counts.feasible > 50);
    CHECK(counts.missed == 0);
    CHECK(counts.infeasible > 5);
    CHECK(counts.proved * 100 >= counts.feasible * 90);
  }
}

TEST_CASE("best: finds the best plan that the rules allow") {
  for (const std::uint64_t seed : seeds({203, 204})) {
    const BestCounts counts = check_small_plans(seed, 60, true);
    CHECK(counts.feasible > 15);
    CHECK(counts.missed == 0);
    CHECK(counts.infeasible > 5);
  }
}

TEST_CASE("best: finds the best plan where hosts leave ranks over") {
  for (const bool rules : {false, true}) {
    const BestCounts counts = check_uneven_plans(205, 100, rules);
    CHECK(counts.feasible > 30);
    CHECK(counts.missed == 0);
    CHECK(counts.infeasible > 5);
  }
}

}  // namespace shardwright::best_property_test
