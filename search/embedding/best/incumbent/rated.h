// A solution with its rating: as a lane holds it, and as lanes hand it to each other.
#pragma once

#include <cstdint>

#include "core/embedding/plan.h"
#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

struct RatedAllocation {
  Allocation allocation;
  // The largest load of a rank. Summed in another order than by the verifier.
  double rating = 0;
  std::int64_t peak_hbm_bytes = 0;  // of the shards on the fullest rank
};

// What a lane offers to the others between rounds. Thread safety: a value.
struct RatedPlan {
  Plan plan;  // made by to_plan(): tables in the model's order
  double rating = 0;
  std::int64_t peak_hbm_bytes = 0;
};

// Returns true if a has the lower rating, or the same rating and the lower peak.
template <class A, class B>
bool is_better(const A& a, const B& b) {
  if (a.rating != b.rating) return a.rating < b.rating;
  return a.peak_hbm_bytes < b.peak_hbm_bytes;
}

}  // namespace shardwright::embedding
