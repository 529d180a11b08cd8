// What the proof suggests to the search.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "search/embedding/model/allocation.h"
#include "search/embedding/model/choice_model.h"

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
  // Tables that wait for a place; all of them if none has one.
  std::size_t num_unplaced(const ChoiceModel& model) const {
    if (!has_places()) return start.choice.size();
    std::size_t unplaced = 0;
    for (std::size_t table = 0; table < start.choice.size(); ++table) {
      const bool has_place = !start.ranks[table].empty() ||
                             model.choices()[start.choice[table]].reach == Reach::kAllRanks;
      if (!has_place) ++unplaced;
    }
    return unplaced;
  }
};

}  // namespace shardwright::embedding
