#include "search/embedding/best/processes/round_report.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace shardwright::embedding {
namespace {

// Returns true if a process alone would have taken `a` and not `b`.
bool comes_first(const FoundAllocation& a, const FoundAllocation& b) {
  if (a.rated == nullptr || b.rated == nullptr) return a.rated != nullptr;
  if (is_better(*a.rated, *b.rated)) return true;
  return !is_better(*b.rated, *a.rated) && a.lane < b.lane;
}

}  // namespace

void add_report(RoundReport&& other, RoundReport& to) {
  for (std::size_t lane = 0; lane < to.lane_work.size(); ++lane)
    to.lane_work[lane] += other.lane_work[lane];
  if (!to.stopped) to.stopped = other.stopped;
  if (comes_first(other.found, to.found)) to.found = std::move(other.found);
  if (other.neighbourhoods) to.neighbourhoods = std::move(other.neighbourhoods);
  std::move(other.tree_lanes.begin(), other.tree_lanes.end(), std::back_inserter(to.tree_lanes));
}

}  // namespace shardwright::embedding
