// How a search for better plans went.
#pragma once

#include <cstdint>

namespace shardwright::embedding {

// A better plan or a better bound, and when it was found.
struct ImprovementStep {
  std::uint64_t work = 0;
  double rating = 0;
  double bound = 0;
};

}  // namespace shardwright::embedding
