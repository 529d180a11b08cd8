// Proves optima of cost instances of small width, memory included.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/parameters/exact_parameters.h"

namespace shardwright::operators {

// What an exact search found and proved.
struct ExactResult {
  bool finished = false;  // `choice` is optimal; without a choice, none is feasible
  std::optional<std::vector<std::uint32_t>> choice;  // the best found, within all limits
  double cost = kForbidden;                          // of `choice`
  double lower_bound = 0;                            // no feasible choice is cheaper
};

// Prices bytes at the time points that bind (Lagrangian relaxation, minimised exactly by the bucket
// tree), then closes the gap that is left with a LabelSearch. Gives up if that needs more than
// `max_labels` partial choices. `start` is a feasible choice. Work is counted in table entries.
ExactResult search_exactly(const BucketTree& tree,
                           const std::optional<std::vector<std::uint32_t>>& start,
                           std::size_t max_labels, Budget& budget,
                           const ExactParameters& parameters = {});

}  // namespace shardwright::operators
