// Finds optima of cost instances of small width, within memory limits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/operators/instance/cost_instance.h"
#include "search/budget.h"
#include "search/operators/elimination/bucket_tree.h"
#include "search/operators/solve/solver_parameters.h"

namespace shardwright::operators {

// What the caller knows before an exact search.
struct KnownSolution {
  std::optional<std::vector<std::uint32_t>> choice;  // feasible
  // Only choices that cost less are sought. If there is a `choice`, this is its cost.
  double cost = kForbidden;
  std::vector<double> prices;  // of a byte, by time point; may be empty
};

// What an exact search found and proved.
struct ExactResult {
  // True if `choice` is optimal or, without a choice, if no feasible choice costs less than
  // KnownSolution::cost.
  bool finished = false;
  std::optional<std::vector<std::uint32_t>> choice;  // the best found, within all limits
  double cost = kForbidden;                          // of `choice`
  double lower_bound = 0;                            // no feasible choice costs less
  std::vector<double> prices;  // of a byte, by time point, with the best bound found
};

// First raises a lower bound with prices for bytes at the time points whose limits bind (Lagrangian
// relaxation, MemoryPrices); the bucket tree minimises the priced cost exactly. Then closes the
// remaining gap by a LabelSearch, or by CardinalityBranching if parameters.counts.most_parts > 0.
// Gives up if lists need more than `max_labels` partial choices. Work is counted in table entries.
ExactResult search_exactly(const BucketTree& tree, const KnownSolution& known,
                           std::size_t max_labels, Budget& budget,
                           const ExactParameters& parameters = {});

}  // namespace shardwright::operators
