// Exact arithmetic, compared bit by bit with the loops that it replaces.
#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/numeric/exact_mean.h"
#include "tests/support/random.h"

namespace shardwright::exact_arithmetic_property_test {

namespace {

using shardwright::add_repeatedly;
using shardwright::true_divide;
using shardwright::WideUnsigned;
using shardwright::test_support::Random;
using shardwright::test_support::seeds;

// The compiler must keep these additions, since floating-point addition is not associative.
double loop(double sum, double value, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    sum += value;
  return sum;
}

bool same_bits(double a, double b) {
  return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

// Returns a mantissa of 52 random bits, few bits, or all ones. These cause ties and carries.
double random_mantissa(Random& random) {
  const std::uint64_t all = (std::uint64_t{1} << 52) - 1;
  std::uint64_t bits = 0;
  switch (random.below(5)) {
    case 0:
      bits = 0;
      break;
    case 1:
      bits = all - random.below(4);
      break;
    case 2:
      bits = random.next() & random.next() & random.next() & all;
      break;
    case 3:
      bits = all & ~((std::uint64_t{1} << random.below(52)) - 1);
      break;
    default:
      bits = random.next() & all;
      break;
  }
  return 1 + std::ldexp(static_cast<double>(bits), -52);
}

int between(Random& random, int low, int high) {
  return low + static_cast<int>(random.below(static_cast<std::size_t>(high - low + 1)));
}

// Returns a sum and a value to add, often near a special case.
std::pair<double, double> random_case(Random& random) {
  const int exponent = between(random, -60, 60);
  const double sum = std::ldexp(random_mantissa(random), exponent);
  switch (random.below(8)) {
    case 0:  // unrelated magnitudes
      return {sum, std::ldexp(random_mantissa(random), between(random, -60, 60))};
    case 1:  // a sum of zero
      return {0, sum};
    case 2:  // nothing to add
      return {sum, 0};
    case 3:  // ties: a few and a half units in the last place of the sum
      return {sum, std::ldexp(static_cast<double>(random.below(16)) + 0.5, exponent - 52)};
    case 4:  // about half a unit, so the sum may stop growing
      return {sum, std::ldexp(random_mantissa(random), exponent - between(random, 51, 54))};
    case 5: {  // denormals
      const double least = std::numeric_limits<double>::denorm_min();
      return {least * static_cast<double>(random.below(1000)),
              least * static_cast<double>(random.below(1000))};
    }
    case 6: {  // across the smallest normal number
      const double normal = std::numeric_limits<double>::min();
      return {normal * (random_mantissa(random) - 1), normal * (random_mantissa(random) / 100)};
    }
    default:  // up to the largest number and beyond
      return {std::ldexp(random_mantissa(random), 1023),
              std::ldexp(random_mantissa(random), between(random, 960, 1023))};
  }
}

// Returns n / d by binary long division: the first 53 digits, rounded by the digits after them.
double long_division(WideUnsigned n, std::uint64_t d) {
  std::vector<int> digits;  // 128 before the point, then as many as needed
  WideUnsigned rest = 0;
  for (int i = 127; i >= 0; --i) {
    rest = rest << 1 | (n >> i & 1);
    digits.push_back(rest >= d ? 1 : 0);
    if (rest >= d) rest -= d;
  }
  std::size_t lead = 0;
  while (lead == digits.size() || digits[lead] == 0 || digits.size() < lead + 54) {
    if (lead < digits.size() && digits[lead] == 0) {
      ++lead;
      continue;
    }
    rest <<= 1;
    digits.push_back(rest >= d ? 1 : 0);
    if (rest >= d) rest -= d;
  }
  std::uint64_t kept = 0;
  for (std::size_t i = lead; i < lead + 53; ++i) {
    kept = kept << 1 | static_cast<std::uint64_t>(digits[i]);
  }
  bool more = rest != 0;
  for (std::size_t i = lead + 54; i < digits.size(); ++i)
    more = more || digits[i] != 0;
  if (digits[lead + 53] != 0 && (more || kept % 2 != 0)) ++kept;
  return std::ldexp(static_cast<double>(kept), 127 - static_cast<int>(lead + 52));
}

}  // namespace

TEST_CASE("add_repeatedly: equals the loop to the last bit") {
  for (const std::uint64_t seed : seeds({1, 2, 3, 4})) {
    CAPTURE(seed);
    Random random(seed);
    for (int step = 0; step < 20000; ++step) {
      const std::pair<double, double> random_pair = random_case(random);
      const double sum = random_pair.first;
      const double value = random_pair.second;
      const std::uint64_t count = random.below(std::size_t{1} << random.below(11));
      const double fast = add_repeatedly(sum, value, count);
      const double slow = loop(sum, value, count);
      if (same_bits(fast, slow)) continue;
      CAPTURE(sum);
      CAPTURE(value);
      CAPTURE(count);
      REQUIRE(fast == slow);
      REQUIRE_MESSAGE(false, "equal numbers of different bits");
    }
  }
}

TEST_CASE("add_repeatedly: equals the loop to the last bit, over many powers of two") {
  for (const std::uint64_t seed : seeds({5})) {
    CAPTURE(seed);
    Random random(seed);
    for (int step = 0; step < 12; ++step) {
      const double value = random_mantissa(random);
      const double sum = random.below(2) == 0 ? 0 : random_mantissa(random);
      const std::uint64_t count = 1'000'000 + random.below(1'000'000);
      CAPTURE(sum);
      CAPTURE(value);
      CAPTURE(count);
      CHECK(same_bits(add_repeatedly(sum, value, count), loop(sum, value, count)));
    }
  }
}

TEST_CASE(
    "add_repeatedly: adding in two parts equals adding at once, for counts too large for a loop") {
  for (const std::uint64_t seed : seeds({6, 7})) {
    CAPTURE(seed);
    Random random(seed);
    for (int step = 0; step < 20000; ++step) {
      const std::pair<double, double> random_pair = random_case(random);
      const double sum = random_pair.first;
      const double value = random_pair.second;
      const std::uint64_t first = random.next() >> (1 + random.below(63));
      const std::uint64_t second = random.next() >> (1 + random.below(63));
      CAPTURE(sum);
      CAPTURE(value);
      CAPTURE(first);
      CAPTURE(second);
      const double at_once = add_repeatedly(sum, value, first + second);
      REQUIRE(same_bits(at_once, add_repeatedly(add_repeatedly(sum, value, first), value, second)));
    }
  }
}

TEST_CASE("true_divide: equals long division to the last bit") {
  for (const std::uint64_t seed : seeds({8, 9})) {
    CAPTURE(seed);
    Random random(seed);
    for (int step = 0; step < 20000; ++step) {
      WideUnsigned n =
          (WideUnsigned{random.next()} << 64 | random.next()) >> (10 + random.below(118));
      const std::uint64_t d = 1 + (random.next() >> (1 + random.below(63)));
      if (d >> 63 != 0) continue;
      // Half of the quotients are within 1 / d of a tie: 54 bits that end in a one.
      if (random.below(2) == 0) {
        n = (WideUnsigned{random.next() >> 10 | (std::uint64_t{1} << 53) | 1} * d) - 1 +
            random.below(3);
      }
      if (n == 0) continue;
      const auto high = static_cast<std::uint64_t>(n >> 64);
      const auto low = static_cast<std::uint64_t>(n);
      CAPTURE(high);
      CAPTURE(low);
      CAPTURE(d);
      REQUIRE(same_bits(true_divide(n, d), long_division(n, d)));
    }
  }
}

}  // namespace shardwright::exact_arithmetic_property_test
