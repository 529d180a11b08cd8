// Lower bounds and their certificates, compared with all plans of small problems.
#include "tests/support/embedding/checks/bound_checks.h"

namespace shardwright::bound_property_test {

namespace {

using namespace shardwright::test_support;

BoundCounts check_many(std::uint64_t seed, int problems, bool rules) {
  BoundCounts counts;
  Random random(seed);
  for (int i = 0; i < problems; ++i) {
    CAPTURE(seed);
    CAPTURE(i);
    check_small_problem(small_problem(random, rules), counts);
  }
  return counts;
}

}  // namespace

TEST_CASE("bound: never above the least rating, and nearly always equal to it") {
  for (const std::uint64_t seed : seeds({91, 92})) {
    const BoundCounts counts = check_many(seed, 200, false);
    CHECK(counts.feasible > 100);
    CHECK(counts.proved * 100 >= counts.feasible * 97);
  }
}

TEST_CASE("bound: never above the least rating that the rules allow") {
  for (const std::uint64_t seed : seeds({93})) {
    const BoundCounts counts = check_many(seed, 200, true);
    CHECK(counts.feasible > 60);
    CHECK(counts.proved * 100 >= counts.feasible * 40);
  }
}

}  // namespace shardwright::bound_property_test
