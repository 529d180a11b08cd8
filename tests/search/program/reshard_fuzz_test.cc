#include <doctest/doctest.h>

#include "tests/search/program/reshard_fuzz.h"

namespace shardwright::reshard_fuzz_test {

TEST_CASE(
    "reshard fuzz: two thousand random pairs simulate correctly, none costs more than upstream") {
  for (const std::uint64_t seed : shardwright::test_support::seeds({1, 2})) {
    CAPTURE(seed);
    const auto outcome = shardwright::test_support::ReshardFuzz(seed).run(1000);
    CAPTURE(outcome.first_problem);
    CHECK(outcome.wrong == 0);
    CHECK(outcome.dearer == 0);
    CHECK(outcome.upstream_correct > outcome.pairs / 4);
    CHECK(outcome.partial > 300);
    CHECK(outcome.uneven > 150);
    CHECK(outcome.other_mesh > 300);
    CHECK(outcome.empty > 10);
  }
}

}  // namespace shardwright::reshard_fuzz_test
