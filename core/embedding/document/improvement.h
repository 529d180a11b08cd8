// The progress of a search for better plans.
#pragma once

#include <cstdint>

namespace shardwright::embedding {

// The best rating and the best bound after `work` units; one step for every improvement of either.
struct ImprovementStep {
  std::uint64_t work = 0;
  double rating = 0;
  double bound = 0;
};

}  // namespace shardwright::embedding
