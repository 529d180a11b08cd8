// The random generator of every search. It gives the same numbers on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright {

// SplitMix64. The i-th number of a sequence is a function of (key, i), so a sequence can be drawn
// one number after another or looked up by index. Sequences of different keys are independent for
// practical purposes; a search derives one key per lane, batch or candidate.
// Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", 2014.
// Thread safety: one thread at a time.
class RandomGenerator {
 public:
  explicit RandomGenerator(std::uint64_t key) : state_(key) {}

  // Returns what bits() returns for `key` after `index` earlier calls.
  static std::uint64_t bits_at(std::uint64_t key, std::uint64_t index) {
    return mix(key + (index + 1) * kIncrement);
  }

  std::uint64_t bits() { return mix(state_ += kIncrement); }
  // Returns a number in [0, bound), from the upper 32 bits. Every value has probability 1 / bound,
  // up to a relative error of bound / 2^32. Costs one multiplication. Requires 0 < bound <= 2^32.
  std::uint32_t below(std::size_t bound) {
    return static_cast<std::uint32_t>(((bits() >> 32) * bound) >> 32);
  }
  // Returns a number in [0, bound), the remainder of all 64 bits. The bias is negligible for every
  // bound of at most 32 bits. Costs one division. Precondition: as of below().
  std::uint32_t remainder(std::size_t bound) { return static_cast<std::uint32_t>(bits() % bound); }
  // Returns true with probability 1/2.
  bool coin() { return (bits() & 1) != 0; }
  // Returns true with probability 1 / n. Precondition: n is a power of two.
  bool one_in(std::uint64_t n) { return (bits() & (n - 1)) == 0; }
  // Returns a number in [0, 1).
  double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  static constexpr std::uint64_t kIncrement =
      0x9e3779b97f4a7c15ULL;  // odd, near 2^64 / golden ratio

  static std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }

  std::uint64_t state_;
};

}  // namespace shardwright
