// Arithmetic that agrees with Python to the last bit, tested with known answers.
#include "core/numeric/exact_mean.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <limits>

namespace shardwright::exact_arithmetic_test {

using shardwright::add_repeatedly;
using shardwright::true_divide;
using shardwright::WideUnsigned;

TEST_CASE("add_repeatedly: answers known sums of many additions at once") {
  const double two53 = 9007199254740992.0;
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  CHECK(add_repeatedly(0, 1, std::uint64_t{1} << 52) == two53 / 2);
  // Adding 1 to 2^53 is a tie that rounds to even, so the sum stops growing.
  CHECK(add_repeatedly(0, 1, most) == two53);
  CHECK(add_repeatedly(two53 + 2, 1, 1) == two53 + 4);
  CHECK(add_repeatedly(two53 + 2, 1, most) == two53 + 4);
  CHECK(add_repeatedly(5, 0, most) == 5);
  CHECK(add_repeatedly(5, 3, 0) == 5);
  CHECK(add_repeatedly(0, 0.5, 6) == 3);
}

TEST_CASE("add_repeatedly: a sum beyond the largest double is infinite") {
  const double largest = std::numeric_limits<double>::max();
  CHECK(add_repeatedly(0, largest, 1) == largest);
  CHECK(std::isinf(add_repeatedly(0, largest, 2)));
  CHECK(std::isinf(add_repeatedly(0, largest, 1000)));
  CHECK(std::isinf(add_repeatedly(0, 1e300, std::uint64_t{1} << 60)));
  CHECK(add_repeatedly(largest, 1, std::uint64_t{1} << 60) == largest);
}

TEST_CASE("true_divide: returns quotients that are doubles exactly") {
  CHECK(true_divide(0, 7) == 0);
  CHECK(true_divide(1, 1) == 1);
  CHECK(true_divide(3, 4) == 0.75);
  CHECK(true_divide(WideUnsigned{1} << 117, 1) == std::ldexp(1.0, 117));
  CHECK(true_divide(1, std::uint64_t{1} << 62) == std::ldexp(1.0, -62));
}

TEST_CASE("true_divide: rounds to the nearest double, ties to even") {
  const std::uint64_t two53 = std::uint64_t{1} << 53;
  CHECK(true_divide(1, 3) == 1.0 / 3.0);
  // A tie, rounds down to even.
  CHECK(true_divide(WideUnsigned{two53} + 1, 1) == 9007199254740992.0);
  // A tie, rounds up to even.
  CHECK(true_divide(WideUnsigned{two53} + 3, 1) == 9007199254740996.0);
  CHECK(true_divide(WideUnsigned{two53} * 2 + 3, 2) == 9007199254740994.0);  // just above a tie
  // The next quotients are exactly a tie, and above a tie only by the lowest bit of the dividend.
  const WideUnsigned tie = (WideUnsigned{two53} + 1) << 64;
  CHECK(true_divide(tie, 1) == std::ldexp(9007199254740992.0, 64));
  CHECK(true_divide(tie + 1, 1) == std::ldexp(9007199254740994.0, 64));
  CHECK(true_divide(tie - 1, 1) == std::ldexp(9007199254740992.0, 64));
}

TEST_CASE("true_divide: rounds once where dividing doubles rounds twice") {
  // Source: Python.
  CHECK(true_divide(2738693950259829037u, 523832097) == 0x1.379fdad228d8ep+32);
  CHECK(true_divide(3697771462597728510u, 245631565) == 0x1.c0a5f52b5cf5bp+33);
  CHECK(true_divide(4391452454083400340u, 311150635) == 0x1.a49e253d45bd2p+33);
  CHECK(2738693950259829037.0 / 523832097.0 == 0x1.379fdad228d8fp+32);
}

}  // namespace shardwright::exact_arithmetic_test
