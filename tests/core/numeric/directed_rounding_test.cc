// Sums and products that are rounded in a known direction.
#include "core/numeric/directed_rounding.h"

#include <cmath>
#include <cstdint>
#include <limits>

#include <doctest/doctest.h>

#include "tests/support/random.h"

namespace shardwright::directed_rounding_test {

namespace {

using namespace shardwright;
using Wide = long double;  // has enough bits to show how a double was rounded

double random_double(test_support::Random& random) {
  const auto digits = static_cast<double>(static_cast<std::int64_t>(random.next() >> 11));
  const double value = std::ldexp(digits, static_cast<int>(random.below(80)) - 93);
  return random.below(2) == 0 ? value : -value;
}

}  // namespace

TEST_CASE("directed rounding: results enclose the exact ones tightly") {
  for (const std::uint64_t seed : test_support::seeds({11})) {
    test_support::Random random(seed);
    for (int i = 0; i < 100'000; ++i) {
      const double a = random_double(random);
      const double b = random_double(random);
      const Wide sum = Wide(a) + Wide(b);
      const Wide product = Wide(a) * Wide(b);
      REQUIRE(Wide(add_down(a, b)) <= sum);
      REQUIRE(Wide(add_up(a, b)) >= sum);
      REQUIRE(Wide(multiply_down(a, b)) <= product);
      REQUIRE(Wide(multiply_up(a, b)) >= product);
      REQUIRE(multiply_up(a, b) <= step_up(step_up(multiply_down(a, b))));
      REQUIRE(add_up(a, b) <= step_up(step_up(add_down(a, b))));
    }
  }
}

TEST_CASE("directed rounding: a step leads to the next double") {
  using Limits = std::numeric_limits<double>;
  const auto check = [](double value) {
    CHECK(step_up(value) == std::nextafter(value, Limits::infinity()));
    CHECK(step_down(value) == std::nextafter(value, -Limits::infinity()));
  };
  for (const double value : {0.0, Limits::denorm_min(), Limits::min(), 0.5, 1.0, 2.0, Limits::max(),
                             Limits::infinity()}) {
    check(value);
    check(-value);
  }
  CHECK(std::isnan(step_up(Limits::quiet_NaN())));
  CHECK(std::isnan(step_down(Limits::quiet_NaN())));
  for (const std::uint64_t seed : test_support::seeds({12})) {
    test_support::Random random(seed);
    for (int i = 0; i < 10'000; ++i)
      check(random_double(random));
  }
}

TEST_CASE("directed rounding: rounding shows in the interval") {
  const double tiny = std::numeric_limits<double>::denorm_min();
  CHECK(add_up(1, tiny) > 1);
  CHECK(add_down(1, -tiny) < 1);
  CHECK(multiply_up(tiny, 0.25) > 0);
  CHECK(multiply_down(-tiny, 0.25) < 0);
  CHECK(multiply_down(tiny, 0.25) <= 0);
}

TEST_CASE("directed rounding: zeros are exact, and overflow goes to the safe side") {
  const double largest = std::numeric_limits<double>::max();
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(add_up(0, 0) == 0);
  CHECK(add_down(3, -3) == 0);
  CHECK(multiply_up(0, largest) == 0);
  CHECK(multiply_down(0, infinity) == 0);
  CHECK(multiply_up(largest, 2) == infinity);
  CHECK(multiply_down(largest, 2) == largest);
  CHECK(add_down(largest, largest) == largest);
  CHECK(std::isnan(add_up(infinity, -infinity)));
}

TEST_CASE("directed rounding: integers beyond 2^53 are enclosed") {
  constexpr std::int64_t kExact = std::int64_t{1} << 53;
  for (const std::int64_t value : {std::int64_t{0}, std::int64_t{-7}, kExact, -kExact}) {
    CHECK(rounded_up(value) == static_cast<double>(value));
    CHECK(rounded_down(value) == static_cast<double>(value));
  }
  for (const std::int64_t value : {kExact + 1, 3 * kExact + 1, -kExact - 1, -5 * kExact + 3}) {
    CHECK(Wide(rounded_up(value)) >= Wide(value));
    CHECK(Wide(rounded_down(value)) <= Wide(value));
    CHECK(rounded_up(value) > rounded_down(value));
  }
}

}  // namespace shardwright::directed_rounding_test
