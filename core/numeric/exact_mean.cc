#include "core/numeric/exact_mean.h"

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

// An exact sum, stored as doubles whose bits do not overlap, the smallest first.
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

  // The sum, with an error of at most one unit in the last place.
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
  // The distance between the sum and `mean` times the count.
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
