#include "core/numeric/exact_mean.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "core/check.h"

namespace shardwright {
namespace {

// Returns 2^exponent, for -1022 <= exponent <= 1023.
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
  // Scales the numerator so that the quotient has 55 or 56 bits: 53 bits of the result and at least
  // one bit that decides the rounding. The sticky bit is set if a remainder was cut off.
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
  // The quotient is below 2^57, so there is room for the sticky bit as its lowest bit. The
  // conversion rounds half to even.
  quotient = quotient << 1 | (sticky ? 1 : 0);
  return static_cast<double>(quotient) * power_of_two(-scale - 1);
}

// Between two powers of two, doubles are equally spaced. Once the sum is a multiple of that
// spacing, every addition advances the sum by the same rounded step. Only the first step may
// differ, if `value` is half-way between two multiples and the tie goes to even. The function makes
// all equal steps up to the next power of two at once.
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

namespace {

// An exact sum, stored as doubles whose bits do not overlap, in ascending order of magnitude.
// Source: J. R. Shewchuk, "Adaptive Precision Floating-Point Arithmetic", grow-expansion.
class ExactSum {
 public:
  void add(double value) {
    std::size_t kept = 0;
    for (double part : parts_) {
      if (std::abs(value) < std::abs(part)) std::swap(value, part);
      const double high = value + part;
      const double low = part - (high - value);
      if (low != 0) parts_[kept++] = low;
      value = high;
    }
    parts_.resize(kept);
    parts_.push_back(value);
  }

  // Returns the sum with an error of at most one unit in the last place.
  double approximate() const {
    double sum = 0;
    for (const double part : parts_)
      sum += part;
    return sum;
  }

 private:
  std::vector<double> parts_;
};

}  // namespace

double exact_mean(std::span<const double> values) {
  SHARDWRIGHT_CHECK(!values.empty());
  ExactSum sum;
  for (const double value : values)
    sum.add(value);
  const auto count = static_cast<double>(values.size());
  // Returns the distance between the exact sum and mean * count.
  const auto distance = [&](double mean) {
    ExactSum rest = sum;
    const double product = mean * count;
    rest.add(-product);
    rest.add(-std::fma(mean, count, -product));
    return std::abs(rest.approximate());
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const double near = sum.approximate() / count;
  double best = near;
  for (const double other : {std::nextafter(near, -kInfinity), std::nextafter(near, kInfinity)}) {
    const double closer = distance(best) - distance(other);
    const bool even = (std::bit_cast<std::uint64_t>(other) & 1) == 0;
    if (closer > 0 || (closer == 0 && even)) best = other;
  }
  return best;
}

}  // namespace shardwright
