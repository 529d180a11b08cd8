// Sums and products that are rounded up or down, for proofs in floating point.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

namespace shardwright {

// Functions `*_up` return an upper bound on the exact result, functions `*_down` a lower bound. An
// IEEE operation rounds to nearest, so one step to the next double suffices. A sum of zero is
// exact. A product of zero is exact only if a factor is zero, because small products underflow. If
// the result overflows, rounding up gives infinity and rounding down gives the largest double. NaN
// stays NaN.
//
// For doubles of one sign, the bit pattern read as an integer grows with the magnitude. A step
// therefore changes the integer by 1. std::nextafter does the same at the cost of a library call.
inline double step_up(double value) {
  if (!(value < std::numeric_limits<double>::infinity())) return value;
  if (value == 0) return std::numeric_limits<double>::denorm_min();
  const auto bits = std::bit_cast<std::int64_t>(value);
  return std::bit_cast<double>(bits + (value > 0 ? 1 : -1));
}
inline double step_down(double value) { return -step_up(-value); }
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

// Integers of at most this magnitude are exact as doubles. Conversion rounds larger ones.
inline constexpr std::int64_t kExactIntegers = std::int64_t{1} << 53;
inline double rounded_up(std::int64_t value) {
  const auto nearest = static_cast<double>(value);
  return value > kExactIntegers || value < -kExactIntegers ? step_up(nearest) : nearest;
}
inline double rounded_down(std::int64_t value) { return -rounded_up(-value); }

}  // namespace shardwright
