// Proves optima of cost instances of small width, memory included.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// What is known before an exact search.
struct KnownSolution {
  std::optional<std::vector<std::uint32_t>> choice;  // feasible
  // Only cheaper choices are sought. The cost of `choice`, if there is one.
  double cost = kForbidden;
  std::vector<double> prices;  // of bytes, by time point; may be empty
};

// What an exact search found and proved.
struct ExactResult {
  // `choice` is optimal; without a choice, no feasible choice costs less than KnownSolution::cost.
  bool finished = false;
  std::optional<std::vector<std::uint32_t>> choice;  // the best found, within all limits
  double cost = kForbidden;                          // of `choice`
  double lower_bound = 0;                            // no feasible choice is cheaper
  std::vector<double> prices;  // of bytes, by time point; they gave the best priced bound
};

// Raises a Lagrangian bound with prices of bytes at the time points that bind (MemoryPrices); the
// bucket tree minimises the priced cost exactly. Then closes the remaining gap by a LabelSearch, or
// by a CardinalityBranching if parameters.counts.most_parts > 0. Gives up if lists need more than
// `max_labels` partial choices. Work is counted in table entries.
ExactResult search_exactly(const BucketTree& tree, const KnownSolution& known,
                           std::size_t max_labels, Budget& budget,
                           const ExactParameters& parameters = {});

}  // namespace shardwright::operators
