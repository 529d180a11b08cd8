// The random generator: known numbers, and the functions that draw from it.
#include "search/random.h"

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace shardwright::random_test {

using shardwright::RandomGenerator;

TEST_CASE("random: the sequence is SplitMix64's") {
  // Source: the first numbers of the reference implementation with state 1234567,
  // https://prng.di.unimi.it/splitmix64.c.
  constexpr std::array<std::uint64_t, 3> kExpected{6457827717110365317ULL, 3203168211198807973ULL,
                                                   9817491932198370423ULL};
  RandomGenerator random(1234567);
  for (const std::uint64_t expected : kExpected)
    CHECK(random.bits() == expected);
}

TEST_CASE("random: a number looked up by index equals the one drawn in sequence") {
  for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{42}, ~std::uint64_t{0}}) {
    RandomGenerator random(key);
    for (std::uint64_t i = 0; i < 100; ++i)
      CHECK(random.bits() == RandomGenerator::bits_at(key, i));
  }
}

TEST_CASE("random: bounded draws reach every value and no other") {
  constexpr std::array<std::size_t, 5> kBounds{1, 2, 3, 7, 16};
  for (const std::size_t bound : kBounds) {
    RandomGenerator random(bound);
    std::array<int, 16> below{}, remainder{};
    for (int i = 0; i < 1000; ++i) {
      const std::uint32_t a = random.below(bound);
      const std::uint32_t b = random.remainder(bound);
      REQUIRE(a < bound);
      REQUIRE(b < bound);
      ++below[a];
      ++remainder[b];
    }
    for (std::size_t value = 0; value < bound; ++value) {
      CHECK(below[value] > 0);
      CHECK(remainder[value] > 0);
    }
  }
}

TEST_CASE("random: events have the given probability") {
  RandomGenerator random(5);
  int heads = 0, eighths = 0;
  double sum = 0;
  constexpr int kDraws = 10'000;
  for (int i = 0; i < kDraws; ++i) {
    heads += random.coin() ? 1 : 0;
    eighths += random.one_in(8) ? 1 : 0;
    const double fraction = random.fraction();
    REQUIRE(fraction >= 0);
    REQUIRE(fraction < 1);
    sum += fraction;
  }
  // The tolerance is five standard deviations of 10,000 draws.
  CHECK(heads > kDraws / 2 - 250);
  CHECK(heads < kDraws / 2 + 250);
  CHECK(eighths > kDraws / 8 - 166);
  CHECK(eighths < kDraws / 8 + 166);
  CHECK(sum > kDraws / 2.0 - 145);
  CHECK(sum < kDraws / 2.0 + 145);
}

}  // namespace shardwright::random_test
