#include "core/numeric/exact_arithmetic.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace shardwright {
namespace {

// 2^exponent, for -1022 <= exponent <= 1023.
double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + exponent) << 52);
}

}  // namespace

double true_divide(WideUnsigned n, std::uint64_t d) {
  if (n == 0) return 0;
  const auto width = [](WideUnsigned v) {
    const auto high = static_cast<std::uint64_t>(v >> 64);
    return high != 0 ? 128 - std::countl_zero(high)
                     : 64 - std::countl_zero(static_cast<std::uint64_t>(v));
  };
  // Scales so that the quotient has 55 or 56 bits: 53 bits of the result, at least one to round by,
  // and a sticky bit for the rest.
  const int scale = 55 + width(d) - width(n);
  WideUnsigned scaled = n;
  bool sticky = false;
  if (scale >= 0) {
    scaled <<= scale;
  } else {
    sticky = (n & ((WideUnsigned{1} << -scale) - 1)) != 0;
    scaled >>= -scale;
  }
  auto quotient = static_cast<std::uint64_t>(scaled / d);
  sticky = sticky || scaled != static_cast<WideUnsigned>(quotient) * d;
  // The quotient is below 2^57, so the sticky bit fits below it. The conversion rounds half to
  // even.
  quotient = quotient << 1 | (sticky ? 1 : 0);
  return static_cast<double>(quotient) * power_of_two(-scale - 1);
}

// Between two powers of two, doubles are equally spaced. Once the sum is a multiple of that
// spacing, every addition advances it by the same rounded step. Only the first may differ, if
// `value` is half-way between two multiples and the tie goes to even. Equal steps up to the next
// power of two are made at once.
double add_repeatedly(double sum, double value, std::uint64_t count) {
  if (value == 0) return sum;
  while (count > 0) {
    const double next = sum + value;
    --count;
    if (count == 0 || next == sum || std::isinf(next)) return next;
    sum = next;
    const double after = sum + value;
    const double step = after - sum;  // exact: both are multiples of the spacing below `limit`
    const double limit =
        std::min(std::ldexp(1.0, std::ilogb(sum) + 1), std::numeric_limits<double>::max());
    if (!(after < limit) || step == 0) continue;
    const double again = after + value;
    if (!(again < limit) || again - after != step) continue;
    const double room = std::floor((limit - again) / step) - 1;
    if (room < 1) continue;
    const auto steps = std::min(count, static_cast<std::uint64_t>(room));
    sum += static_cast<double>(steps) * step;  // exact: a multiple of the spacing, below `limit`
    count -= steps;
  }
  return sum;
}

}  // namespace shardwright
