// Best mode, compared with all plans of thousands of small problems.
#include "tests/support/embedding/checks/best_checks.h"

namespace shardwright::best_fuzz_test {

using namespace shardwright::test_support;

TEST_CASE("best: thousands of small problems are solved to the end") {
  for (const std::uint64_t seed : seeds({211, 212, 213, 216})) {
    const BestCounts counts = check_small_plans(seed, 1000, false);
    CHECK(counts.feasible > 600);
    CHECK(counts.missed == 0);
    CHECK(counts.infeasible > 60);
    CHECK(counts.proved == counts.feasible);
  }
}

TEST_CASE("best: thousands of small problems with rules are solved") {
  for (const std::uint64_t seed : seeds({214, 215, 217, 218})) {
    const BestCounts counts = check_small_plans(seed, 800, true);
    CHECK(counts.feasible > 240);
    CHECK(counts.missed == 0);
    CHECK(counts.proved == counts.feasible);
    CHECK(counts.infeasible > 80);
  }
}

TEST_CASE("best: so are problems whose hosts leave ranks over") {
  for (const std::uint64_t seed : seeds({222, 223})) {
    for (const bool rules : {false, true}) {
      const BestCounts counts = check_uneven_plans(seed, 700, rules);
      CHECK(counts.feasible > 250);
      CHECK(counts.missed == 0);
      CHECK(counts.proved == counts.feasible);
      CHECK(counts.infeasible > 70);
    }
  }
}

TEST_CASE("best: so are problems on eight ranks of several hosts, with margins") {
  for (const std::uint64_t seed : seeds({219, 220, 221})) {
    const BestCounts counts = check_wide_plans(seed, 700);
    CHECK(counts.feasible > 200);
    CHECK(counts.missed == 0);
    CHECK(counts.proved == counts.feasible);
    CHECK(counts.infeasible > 70);
  }
}

}  // namespace shardwright::best_fuzz_test
