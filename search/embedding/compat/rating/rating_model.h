// The interface of rating models, which rate proposals that were placed.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "core/embedding/problem/problem.h"
#include "search/embedding/compat/placement/placement.h"

namespace shardwright::embedding {

// Rates proposals that fit; smaller is better. A proposal whose rating is 2^63 or more is not a
// plan.
// Thread safety: none; one per worker.
class RatingModel {
 public:
  virtual ~RatingModel() = default;

  // Use only the ranks of the proposal's shards from `placement`; its loads may be of another
  // state. Must give the same rating for the same proposal and ranks, whatever proposals came
  // before.
  virtual double rate(std::span<const OptionId> proposal, const Placement& placement) = 0;

  // A lower bound of rate(), from the loads that the greedy partitioner left. It spares rating
  // proposals that are certainly worse than the best.
  virtual double at_least(const Placement&) const {
    return -std::numeric_limits<double>::infinity();
  }
};

// The model that a problem names (perf_models.h).
std::unique_ptr<RatingModel> make_rating_model(PerfModel model, std::uint32_t ranks);

}  // namespace shardwright::embedding
