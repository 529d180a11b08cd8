// Random draws for one stream of a search, the same on every machine.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shardwright::embedding {

// Thread safety: one thread at a time.
// Source: SplitMix64, Steele, Lea, Flood 2014.
class RandomDraws {
 public:
  explicit RandomDraws(std::uint64_t key) : state_(key) {}

  std::uint64_t bits() {
    std::uint64_t x = state_ += 0x9e3779b97f4a7c15ULL;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
  }
  // In [0, bound), bound > 0; the bias is below bound / 2^32.
  std::uint32_t below(std::size_t bound) {
    return static_cast<std::uint32_t>(((bits() >> 32) * bound) >> 32);
  }
  // In [0, 1).
  double fraction() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  std::uint64_t state_;
};

}  // namespace shardwright::embedding
