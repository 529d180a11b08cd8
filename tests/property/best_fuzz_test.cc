// Best mode against every plan of thousands of small problems.
#include "tests/support/embedding/checks/best_checks.h"

namespace shardwright::best_fuzz_test {

using namespace shardwright::test_support;

TEST_CASE("best: thousands of small problems are solved to the end") {
  for (const std::uint64_t seed : seeds({211, 212, 213, 216})) {
    const BestCounts counts = check_small_plans(seed, 1500, false);
    CHECK(counts.feasible > 900);
    CHECK(counts.missed == 0);
    CHECK(counts.infeasible > 100);
    CHECK(counts.proved == counts.feasible);
  }
}

TEST_CASE("best: thousands of small problems with rules are solved") {
  for (const std::uint64_t seed : seeds({214, 215, 217, 218})) {
    const BestCounts counts = check_small_plans(seed, 1000, true);
    CHECK(counts.feasible > 300);
    CHECK(counts.missed == 0);
    CHECK(counts.proved == counts.feasible);
    CHECK(counts.infeasible > 100);
  }
}

}  // namespace shardwright::best_fuzz_test
