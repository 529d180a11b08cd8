// Random bits by key and index, the same on every machine and for any order of drawing.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::operators {

// Source: SplitMix64, Steele, Lea, Flood 2014.
inline std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t x = key + (index + 1) * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Draws one after another.
// Thread safety: one thread at a time.
class RandomStream {
 public:
  explicit RandomStream(std::uint64_t key) : key_(key) {}

  std::uint64_t bits() { return random_bits(key_, next_++); }
  // In [0, bound); the bias is that of a 64-bit remainder.
  std::uint32_t below(std::size_t bound) { return static_cast<std::uint32_t>(bits() % bound); }
  // In [0, 1).
  double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t key_;
  std::uint64_t next_ = 0;
};

}  // namespace shardwright::operators
