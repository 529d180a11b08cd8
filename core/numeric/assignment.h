// Bipartite matching and the linear assignment problem, for small graphs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace shardwright {

// Returns true if a matching covers all left vertices, where edge(left, right) tells whether two
// vertices are adjacent. Calls `edge` O(left * right) times for each left vertex.
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

// Solves the linear assignment problem: returns a distinct column for every row such that the sum
// of cost(row, column) is least. Costs must be finite. Takes O(size^3) time and calls of `cost`.
// Source: the Hungarian method with potentials. The method adds one row at a time. For each row,
// Dijkstra's algorithm over reduced costs finds the cheapest augmenting path.
template <class Cost>
std::vector<std::uint32_t> cheapest_assignment(std::uint32_t size, const Cost& cost) {
  const std::uint32_t none = size;
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::vector<double> row_price(size), column_price(size + 1), distance(size + 1);
  std::vector<std::uint32_t> row_of(size + 1, none), before(size + 1);
  std::vector<bool> done(size + 1);
  for (std::uint32_t start = 0; start < size; ++start) {
    // An extra column holds the row that is added; the column is the root of the search tree.
    row_of[size] = start;
    distance.assign(size + 1, kFar);
    done.assign(size + 1, false);
    std::uint32_t at = size;
    while (row_of[at] != none) {
      done[at] = true;
      const std::uint32_t row = row_of[at];
      std::uint32_t nearest = size;
      double step = kFar;
      for (std::uint32_t column = 0; column < size; ++column) {
        if (done[column]) continue;
        const double reduced = cost(row, column) - row_price[row] - column_price[column];
        if (reduced < distance[column]) {
          distance[column] = reduced;
          before[column] = at;
        }
        if (distance[column] < step) {
          step = distance[column];
          nearest = column;
        }
      }
      for (std::uint32_t column = 0; column <= size; ++column) {
        if (done[column]) {
          row_price[row_of[column]] += step;
          column_price[column] -= step;
        } else {
          distance[column] -= step;
        }
      }
      at = nearest;
    }
    while (at != size) {
      row_of[at] = row_of[before[at]];
      at = before[at];
    }
  }
  std::vector<std::uint32_t> column_of(size);
  for (std::uint32_t column = 0; column < size; ++column)
    column_of[row_of[column]] = column;
  return column_of;
}

}  // namespace shardwright
