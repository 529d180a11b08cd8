// Numbers with units: the compiler rejects adding bytes to milliseconds or to a bare number.
#pragma once

#include <compare>
#include <cstdint>

namespace shardwright {

// A number with a unit. Each addition is one addition of `Rep` (one IEEE operation for doubles), so
// sums round in the order in which the caller adds.
// Thread safety: a value; distinct objects may be used concurrently.
template <class Tag, class Rep>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(Rep value) : value_(value) {}

  constexpr Rep value() const { return value_; }

  constexpr Quantity& operator+=(Quantity other) {
    value_ += other.value_;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity other) {
    value_ -= other.value_;
    return *this;
  }
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return a += b; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return a -= b; }
  friend constexpr auto operator<=>(Quantity, Quantity) = default;

 private:
  Rep value_{};
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Milliseconds = Quantity<struct MillisecondsTag, double>;

inline constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
inline constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

}  // namespace shardwright
