#include <doctest/doctest.h>

#include "tests/search/program/reshard_fuzz.h"

namespace shardwright::reshard_fuzz_slow_test {

TEST_CASE(
    "reshard fuzz: a hundred thousand random pairs simulate correctly, none costs more than "
    "upstream") {
  for (const std::uint64_t seed : shardwright::test_support::seeds({3})) {
    CAPTURE(seed);
    const auto outcome = shardwright::test_support::ReshardFuzz(seed).run(100'000);
    CAPTURE(outcome.first_problem);
    CHECK(outcome.wrong == 0);
    CHECK(outcome.dearer == 0);
    CHECK(outcome.upstream_correct > outcome.pairs / 4);
  }
}

}  // namespace shardwright::reshard_fuzz_slow_test
