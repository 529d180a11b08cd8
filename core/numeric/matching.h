// Perfect matchings in small bipartite graphs.
#pragma once

#include <cstdint>
#include <vector>

namespace shardwright {

// Returns true if every left vertex can be matched to a right vertex of its own for which
// edge(left, right) is true. Calls `edge` O(left * right) times for each left vertex.
// Source: Kuhn's augmenting paths.
template <class Edge>
bool can_match(std::uint32_t left, std::uint32_t right, const Edge& edge) {
  if (left > right) return false;
  constexpr std::uint32_t kNobody = ~std::uint32_t{0};
  std::vector<std::uint32_t> partner(right, kNobody);
  std::vector<bool> seen(right);
  const auto augment = [&](const auto& self, std::uint32_t from) -> bool {
    for (std::uint32_t to = 0; to < right; ++to) {
      if (seen[to] || !edge(from, to)) continue;
      seen[to] = true;
      if (partner[to] != kNobody && !self(self, partner[to])) continue;
      partner[to] = from;
      return true;
    }
    return false;
  };
  for (std::uint32_t from = 0; from < left; ++from) {
    seen.assign(right, false);
    if (!augment(augment, from)) return false;
  }
  return true;
}

}  // namespace shardwright
