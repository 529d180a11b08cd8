// What the proof suggests to the search.
#pragma once

#include <algorithm>
#include <vector>

#include "search/embedding/model/allocation.h"

namespace shardwright::embedding {

// A choice for every table, from which a plan below the target may be made, and the ranks of those
// tables that have a place already.
// Thread safety: a value.
struct SuggestedStart {
  Allocation start;
  double target = 0;

  bool has_places() const {
    return std::any_of(start.ranks.begin(), start.ranks.end(),
                       [](const std::vector<Rank>& ranks) { return !ranks.empty(); });
  }
};

}  // namespace shardwright::embedding
