// Sums and products that err on a known side, for proofs in floating point.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

namespace shardwright {

// Not below, not above the exact result. An IEEE operation rounds to nearest, so one step outwards
// is enough. A sum that is zero is exact; a product may have vanished. A result too large for a
// double is infinite where rounded up, the largest double where rounded down. NaN passes through.
inline double step_up(double value) {
  return std::nextafter(value, std::numeric_limits<double>::infinity());
}
inline double step_down(double value) {
  return std::nextafter(value, -std::numeric_limits<double>::infinity());
}
inline double add_up(double a, double b) {
  const double sum = a + b;
  return sum == 0 ? sum : step_up(sum);
}
inline double add_down(double a, double b) {
  const double sum = a + b;
  return sum == 0 ? sum : step_down(sum);
}
inline double multiply_up(double a, double b) { return a == 0 || b == 0 ? 0 : step_up(a * b); }
inline double multiply_down(double a, double b) { return a == 0 || b == 0 ? 0 : step_down(a * b); }

// Beyond 2^53 a conversion rounds to nearest, too.
inline constexpr std::int64_t kExactIntegers = std::int64_t{1} << 53;
inline double rounded_up(std::int64_t value) {
  const auto nearest = static_cast<double>(value);
  return value > kExactIntegers || value < -kExactIntegers ? step_up(nearest) : nearest;
}
inline double rounded_down(std::int64_t value) { return -rounded_up(-value); }

}  // namespace shardwright
