// Counts the ways to distribute equal shards over ranks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

namespace shardwright {

// Returns the number of ways to distribute `count` equal shards over ranks, where rank i takes at
// most most[i] shards. With more than 16 shards, ignores these limits. The number is an estimate
// for the order of a search and may be infinite. O(ranks x count^2).
inline double num_distributions(std::uint32_t count, std::span<const std::uint32_t> most) {
  constexpr std::uint32_t kMostCounted = 16;
  if (count == 1) return static_cast<double>(most.size());
  if (count > kMostCounted) {
    double product = 1;
    const auto ranks = static_cast<std::uint32_t>(most.size());
    for (std::uint32_t i = 1; i <= count && i < ranks; ++i)
      product *= static_cast<double>(std::max(count, ranks - 1) + i) / i;
    return product;
  }
  std::array<double, kMostCounted + 1> of{1};  // by number of shards, over the ranks visited so far
  for (const std::uint32_t here : most) {
    for (std::uint32_t n = count; n > 0; --n) {
      for (std::uint32_t k = 1; k <= std::min(n, here); ++k)
        of[n] += of[n - k];
    }
  }
  return of[count];
}

}  // namespace shardwright
