// Proves optima of cost instances of small width, memory included.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/bucket_tree.h"

namespace shardwright::operators {

// What an exact search knows at its end.
struct ExactResult {
  bool finished = false;  // `choice` is optimal, or there is none and nothing is feasible
  std::optional<std::vector<std::uint32_t>> choice;  // the best found, within all limits
  double cost = kForbidden;                          // of it
  double lower_bound = 0;                            // no feasible choice is cheaper
};

// Prices the bytes at the time points that bind (Lagrangian relaxation, minimised exactly by the
// bucket tree), then lists what could still be cheaper than the best known choice: partial choices,
// each with its cost and its bytes at those time points, bucket by bucket; dropped where the priced
// cost to complete them reaches the best known, or where another one is neither dearer nor heavier.
// Gives up where more than `max_labels` partial choices are left. `start` is a feasible choice.
// Work is counted in table entries. Source: Handler and Zang, A dual algorithm for the constrained
// shortest path problem, 1980.
ExactResult search_exactly(const BucketTree& tree,
                           const std::optional<std::vector<std::uint32_t>>& start,
                           std::size_t max_labels, Budget& budget);

}  // namespace shardwright::operators
