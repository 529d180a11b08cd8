// Sums and products that err on a known side, for proofs in floating point.
#pragma once

#include <cmath>
#include <limits>

namespace shardwright {

// Not below, not above the exact result. An IEEE operation rounds to nearest, so one step outwards
// is enough. A sum that is zero is exact; a product may have vanished. NaN and infinities pass
// through.
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

}  // namespace shardwright
